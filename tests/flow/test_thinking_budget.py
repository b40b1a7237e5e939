"""However long a model would think, it answers: over HTTP, from a scripted model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.live_server import error_of, events
from tests.support.process import script, served

from hubserve_engine.thinking_budget import SENTENCE

RULES: list[dict[str, Any]] = [
    {"when": "ponder", "say": "<think>" + "0123" * 1000},
    {"when": "give up", "say": "<think>so<|im_end|>Yes, it is."},
    {"when": "think", "say": "<think>so</think>Yes, it is."},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("script"), *RULES)


@pytest.fixture(scope="module")
def client(model: Path) -> Iterator[httpx.Client]:
    with served(model, "-c", "4096") as server, server.client() as client:
        yield client


def ask(client: httpx.Client, words: str, **fields: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": words}], **fields}
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


BUDGETS: list[dict[str, Any]] = [
    {"thinking_budget_tokens": 12},
    {"thinking_token_budget": 12},
    {"thinking_budget": 12.0},
    {"reasoning_budget": 12},
    {"reasoning_budget_tokens": 12},
    {"reasoning": {"max_tokens": 12}},
    {"thinking": {"type": "enabled", "budget_tokens": 12}},
    {"thinking_budget_tokens": 12, "thinking_budget": 40},
    {"thinking_budget_tokens": 12, "logprobs": True},
]


@pytest.mark.parametrize("fields", BUDGETS, ids=str)
def test_every_field_that_may_hold_a_budget(client: httpx.Client, fields: dict[str, Any]) -> None:
    body = ask(client, "ponder", max_tokens=400, **fields)
    (choice,) = body["choices"]
    assert choice["message"]["reasoning_content"] == "012301230123" + SENTENCE.rstrip("\n")
    assert choice["message"]["content"].startswith("0123")
    assert choice["finish_reason"] == "length"
    # The sentence and the tag are tokens of thinking like others.
    used = body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    assert used == 1 + 12 + len(SENTENCE) + 1
    assert body["usage"]["completion_tokens"] == 400


def test_a_stream_is_cut_in_the_same_way(client: httpx.Client) -> None:
    sent = {"messages": [{"role": "user", "content": "ponder"}], "max_tokens": 400, "stream": True}
    response = client.post("/v1/chat/completions", json={**sent, "thinking_budget": 12})
    deltas = [chunk["choices"][0]["delta"] for chunk in events(response.text)]
    thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    assert thought == "012301230123" + SENTENCE.rstrip("\n")
    assert "".join(delta.get("content") or "" for delta in deltas).startswith("0123")


@pytest.mark.parametrize("fields", [{}, {"logprobs": True}, {"n": 2}], ids=str)
def test_an_answer_that_would_end_in_its_thinking_goes_on(
    client: httpx.Client, fields: dict[str, Any]
) -> None:
    body = ask(client, "give up", **fields)
    for choice in body["choices"]:
        assert choice["message"]["reasoning_content"] == "so" + SENTENCE.rstrip("\n")
        assert choice["message"]["content"] == "Yes, it is."
        assert choice["finish_reason"] == "stop"
    written = 1 + len("so") + len(SENTENCE) + 1 + len("Yes, it is.") + 1
    assert body["usage"]["completion_tokens"] == written * len(body["choices"])


@pytest.mark.parametrize("max_tokens", [3, 5, 10, 100, 1000, None])
def test_max_tokens_are_not_spent_in_thinking(client: httpx.Client, max_tokens: int | None) -> None:
    """Without a word about a budget, and with a larger one than there is room for."""
    for fields in ({}, {"thinking_budget": 100_000}, {"thinking_budget": -1}):
        (choice,) = ask(client, "ponder", max_tokens=max_tokens, **fields)["choices"]
        assert choice["message"]["content"], choice
        assert "<think>" not in str(choice) and "</think>" not in str(choice)


def test_an_answer_within_its_budget_is_left_alone(client: httpx.Client) -> None:
    message = ask(client, "think", max_tokens=60)["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("so", "Yes, it is.")


def test_no_budget_at_all_switches_thinking_off(client: httpx.Client) -> None:
    off = ask(client, "ponder", max_tokens=20, thinking_budget=0)
    assert (
        off["usage"]["prompt_tokens"]
        == ask(client, "ponder", max_tokens=20, enable_thinking=False)["usage"]["prompt_tokens"]
    )
    assert off["choices"][0]["message"]["content"]


@pytest.mark.parametrize("value", [-2, 1.5, "many", True])
def test_a_budget_that_is_none(client: httpx.Client, value: Any) -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
    for fields in ({"thinking_budget": value}, {"thinking": {"budget_tokens": value}}):
        response = client.post("/v1/chat/completions", json={**body, **fields})
        error = error_of(response)
        assert response.status_code == 400
        assert error["param"] in ("thinking_budget", "thinking.budget_tokens")
        assert "-1" in error["message"]


def test_the_servers_own_budget(model: Path) -> None:
    with served(model, "--reasoning-budget", "6") as server, server.client() as client:
        message = ask(client, "ponder", max_tokens=400)["choices"][0]["message"]
        assert message["reasoning_content"] == "012301" + SENTENCE.rstrip("\n")
        message = ask(client, "ponder", max_tokens=400, thinking_budget=9)["choices"][0]["message"]
        assert message["reasoning_content"].startswith("0123")


CHANNELS = """{% for m in messages %}{% for call in m.tool_calls or [] %}<|start|>assistant
{{- ' to=functions.' + call.function.name + '<|channel|>commentary json<|message|>' }}
{{- call.function.arguments | tojson }}<|call|>{% endfor %}
{%- if m.content %}<|start|>{{ m.role }}<|channel|>final<|message|>{{ m.content }}<|end|>{% endif %}
{%- endfor %}{{ tools | tojson if tools else '' }}
{%- if add_generation_prompt %}<|start|>assistant{% endif %}{# <|channel|>analysis<|message|> #}"""


def test_a_call_that_has_to_come_follows_thinking_that_is_closed_twice(tmp_path: Path) -> None:
    """The mark of an answer in words, to which thinking leads else, would be no call."""
    opening = "<|channel|>analysis<|message|>"
    model = script(
        tmp_path, {"when": "ponder", "say": f"{opening}01234<|start|>assistant{opening}56"}
    )
    schema = {
        "type": "object",
        "properties": {"on": {"type": "boolean"}},
        "required": ["on"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "turn", "parameters": schema}}
    fields = {"thinking_budget": 5, "max_tokens": 1000, "tools": [tool]}
    template = tmp_path / "template.jinja"
    template.write_text(CHANNELS)
    with served(model, "--chat-template-file", template) as server, server.client() as client:
        assert client.get("/props").json()["tool_format"] == "harmony"
        body = ask(client, "ponder", tool_choice="required", parallel_tool_calls=False, **fields)
        (choice,) = body["choices"]
        assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
        (call,) = choice["message"]["tool_calls"]
        assert call["function"]["name"] == "turn"
        assert choice["message"]["reasoning_content"].startswith("01234")
