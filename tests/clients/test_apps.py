"""Requests as programs that people use really send them, and what these programs read of an answer.

Pi 1.6.0, Jan (its main branch of 2026), Open WebUI 0.12.4, and the AI SDK's compatible provider
3.0.92 under several editors. Each sends fields that mean nothing here, and each must be answered.
"""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.crowd import at_once
from tests.support.live_server import error_of, events
from tests.support.process import Served
from tests.support.weights import TINY_HYBRID, serving

CONTEXT = 2048
MODEL = "tiny-qwen35.gguf"

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
            "required": ["city"],
        },
        "strict": False,
    },
}

STAINLESS = {
    "User-Agent": "OpenAI/JS 6.49.0",
    "X-Stainless-Lang": "js",
    "X-Stainless-Retry-Count": "0",
    "X-Stainless-Runtime": "node",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(TINY_HYBRID, "-c", str(CONTEXT), "-np", "4") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def post(
    client: httpx.Client, body: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx.Response:
    return client.post("/v1/chat/completions", json=body, headers=headers)


def streamed(response: httpx.Response) -> tuple[dict[str, str], str | None, dict[str, Any]]:
    """Texts by field, the finish reason, and the usage: as these programs collect a stream."""
    assert response.status_code == 200, response.text
    texts: dict[str, str] = {}
    finish: str | None = None
    usage: dict[str, Any] = {}
    for chunk in events(response.text):
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            finish = choice["finish_reason"] or finish
            for field in ("reasoning_content", "content"):
                if text := choice["delta"].get(field):
                    texts[field] = texts.get(field, "") + text
    return texts, finish, usage


def rendered(client: httpx.Client, body: dict[str, Any]) -> str:
    """What the model reads of a request."""
    reply = client.post("/apply-template", json=body)
    assert reply.status_code == 200, reply.text
    text: str = reply.json()["prompt"]
    return text


def pi(**fields: Any) -> dict[str, Any]:
    """Pi's body for a provider that is set up by hand, with its thinking format for Qwen."""
    return {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are a coding agent."},
            {"role": "user", "content": [{"type": "text", "text": "What is the weather?"}]},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "store": False,
        "max_completion_tokens": 12,
        "tools": [WEATHER],
        "chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": True},
        **fields,
    }


AGENT_TURNS = [
    {"role": "system", "content": "You are a coding agent."},
    {"role": "user", "content": "What is the weather?"},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I should look.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Köln", "unit": "C"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "22 °C, sunny"},
]


def test_pi_without_thinking(client: httpx.Client) -> None:
    headers = {"Authorization": "Bearer local", **STAINLESS}
    texts, finish, usage = streamed(post(client, pi(), headers))
    assert set(texts) == {"content"}
    assert finish == "length"
    assert usage["completion_tokens"] == 12
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 0
    assert "The weather in a city" in rendered(client, pi())


def test_pi_with_thinking_and_a_budget(client: httpx.Client) -> None:
    fields = {"chat_template_kwargs": {"enable_thinking": True}, "thinking_budget_tokens": 1024}
    texts, finish, usage = streamed(post(client, pi(**fields)))
    # The budget is more than may be written, and yet an answer has room.
    assert set(texts) == {"reasoning_content", "content"}
    assert finish == "length"
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < 12


def test_pi_after_a_tool_call(client: httpx.Client) -> None:
    """The call's arguments are read by the template as an object, and the thinking goes along."""
    body = pi(messages=AGENT_TURNS)
    assert streamed(post(client, body))[1] == "length"
    prompt = rendered(client, body)
    assert '"city": "K' in prompt and "I should look." in prompt and "22 °C, sunny" in prompt


def test_pi_learns_that_the_context_is_full(client: httpx.Client) -> None:
    """By the text or the code; and nothing in it may read like a fault that passes by itself."""
    long = [{"role": "user", "content": "word " * CONTEXT}]
    response = post(client, pi(messages=long))
    assert response.status_code == 400
    error = error_of(response)
    assert re.search(r"exceeds the available context size", error["message"])
    assert re.search(r"maximum context length is \d+ tokens", error["message"])
    assert error["code"] == "context_length_exceeded"
    retried = r"overloaded|server_?busy|rate.?limit|too many|server.?error|internal.?error|timeout"
    assert not re.search(retried, response.text, re.IGNORECASE)
    assert error["n_ctx"] == CONTEXT < error["n_prompt_tokens"]


def test_pi_finds_the_model_as_llama_servers(client: httpx.Client) -> None:
    (model,) = client.get("/models", params={"reload": 1}).json()["data"]
    assert model["status"]["value"] == "loaded"
    assert model["meta"]["n_ctx"] == CONTEXT
    assert model["architecture"]["input_modalities"] == ["text"]
    props = client.get("/props", params={"model": model["id"], "autoload": "false"}).json()
    assert "enable_thinking" in props["chat_template"]


def jan(**fields: Any) -> dict[str, Any]:
    """Jan's body for a custom provider; 0 tokens mean that there is no cap."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 0,
        "temperature": 0.8,
        "top_p": 0.95,
        "top_k": 40,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        **fields,
    }


@pytest.mark.parametrize("origin", ["tauri://localhost", "http://tauri.localhost", None])
def test_jan(client: httpx.Client, origin: str | None) -> None:
    headers = {"Authorization": "Bearer x", "x-api-key": "x", "Content-Type": "application/json"}
    if origin is not None:
        headers["Origin"] = origin
    listed = client.get("/v1/models", headers=headers)
    assert [model["id"] for model in listed.json()["data"]] == [MODEL]
    assert streamed(post(client, jan(max_tokens=8), headers))[1] == "length"


def test_jan_without_a_cap(client: httpx.Client) -> None:
    """This model never ends by itself, so the answer fills the context."""
    texts, finish, usage = streamed(
        post(client, jan(chat_template_kwargs={"enable_thinking": False}))
    )
    assert finish == "length"
    assert usage["total_tokens"] == CONTEXT
    assert texts


def test_jan_with_the_thinking_of_earlier_turns(client: httpx.Client) -> None:
    turns = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi!", "reasoning_content": "A greeting."},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
    ]
    body = jan(messages=turns, max_tokens=4, chat_template_kwargs={"enable_thinking": False})
    texts, finish, _ = streamed(post(client, body))
    assert (set(texts), finish) == ({"content"}, "length")


def test_jan_is_told_that_pictures_are_not_possible(client: httpx.Client) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for part in (picture, {"type": "input_audio", "input_audio": {"data": "AAAA"}}):
        content = [{"type": "text", "text": "What is this?"}, part]
        response = post(client, jan(messages=[{"role": "user", "content": content}]))
        assert response.status_code == 400
        assert "messages.0" in error_of(response)["param"]


def open_webui(**fields: Any) -> dict[str, Any]:
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.7,
        "top_p": 0.9,
        "min_p": 0.05,
        "top_k": 20,
        "seed": 0,
        "stop": [],
        "logit_bias": {},
        "frequency_penalty": 0.1,
        "reasoning_effort": "medium",
        "tools": [WEATHER],
        "max_tokens": 60,
        "metadata": {"chat_id": "1"},
        **fields,
    }


def test_open_webui_with_its_background_requests(client: httpx.Client) -> None:
    """Title, tags and follow-ups are asked for beside the next message; more than there are slots
    for."""
    task = [{"role": "user", "content": "### Task:\nWrite a title for this chat."}]
    aside = [
        open_webui(messages=task, stream=False, max_tokens=limit, tools=None, stream_options=None)
        for limit in (4, 40, 30, 20, 10)
    ]
    bodies = [open_webui(), *aside, open_webui(max_tokens=50)]

    def ask(body: dict[str, Any]) -> httpx.Response:
        return post(client, body, {"Authorization": "Bearer", "X-OpenWebUI-User-Name": "A"})

    first, *others, last = at_once(ask, bodies)
    for response, limit in ((first, 60), (last, 50)):
        texts, finish, usage = streamed(response)
        assert texts and finish == "length" and usage["completion_tokens"] == limit
    for response, body in zip(others, aside, strict=True):
        assert response.status_code == 200, response.text
        assert response.json()["usage"]["completion_tokens"] == body["max_tokens"]


def test_open_webui_goes_on_with_an_answer(client: httpx.Client) -> None:
    turns = [
        {"role": "user", "content": "Count to ten."},
        {"role": "assistant", "content": "One, two, th", "reasoning_content": "Easy."},
    ]
    fields = {"continue_final_message": True, "add_generation_prompt": False}
    body = open_webui(messages=turns, max_tokens=5, **fields)
    assert rendered(client, body).endswith("One, two, th")
    texts, finish, _ = streamed(post(client, body))
    assert (set(texts), finish) == ({"content"}, "length")


def test_the_ai_sdk(client: httpx.Client) -> None:
    """It wants `choices` in every line, and a finish reason; a tool choice of "auto" is usual."""
    body = {
        "model": MODEL,
        "messages": AGENT_TURNS,
        "max_tokens": 5,
        "temperature": 0,
        "stop": ["\n\n\n"],
        "seed": 7,
        "user": "u",
        "response_format": {"type": "text"},
        "reasoning_effort": "low",
        "verbosity": "low",
        "tools": [WEATHER],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "prediction": {"type": "content", "content": "x"},
        "prompt_cache_key": "k",
        "priority": 1,
        "service_tier": "auto",
    }
    assert streamed(post(client, {**body, "stream": True}))[1] == "length"
    assert post(client, body).json()["choices"][0]["finish_reason"] == "length"
