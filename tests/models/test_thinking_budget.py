"""A real model that is told to think is stopped in time, and answers."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.fetched import real_model
from tests.support.weights import serving

from hubserve_engine.thinking_budget import SENTENCE

pytestmark = pytest.mark.model

TEMPLATE = """{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
<think>
{% if enable_thinking is defined and not enable_thinking %}
</think>

{% endif %}"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """SmolLM2 does not think, and so would never close the tag that its template opens here."""
    template = tmp_path_factory.mktemp("thinking") / "template.jinja"
    template.write_text(TEMPLATE)
    words = ("--chat-template-file", template, "-c", "1024")
    with serving(real_model("smollm2"), *words) as server, server.client() as client:
        yield client


def asked(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Tell me a long story about a lighthouse."}]
    body = {"messages": messages, "temperature": 0, **fields}
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("fields", [{}, {"logprobs": True}], ids=str)
def test_it_stops_at_the_budget_and_goes_on_to_answer(
    client: httpx.Client, fields: dict[str, Any]
) -> None:
    body = asked(client, max_tokens=96, thinking_budget=12, **fields)
    message = body["choices"][0]["message"]
    assert message["reasoning_content"].endswith(SENTENCE.rstrip("\n"))
    assert len(message["content"]) > 40
    assert "think>" not in message["content"] + message["reasoning_content"]
    thought = body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    assert 12 < thought < 48


@pytest.mark.parametrize("max_tokens", [8, 24, 80])
def test_max_tokens_are_never_all_spent_in_thinking(client: httpx.Client, max_tokens: int) -> None:
    body = asked(client, max_tokens=max_tokens)
    (choice,) = body["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"], body
    assert body["usage"]["completion_tokens"] == max_tokens
