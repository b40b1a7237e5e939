"""HTTP over the engine and its worker process, which runs a checkpoint in transformers."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.checkpoints import checkpoint
from tests.support.live_server import chat, stream
from tests.support.process import served

GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 16}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    folder = checkpoint("qwen2")
    with served(folder, "-t", "1", "-c", "1024", engine="transformers") as server:
        assert "transformers (--engine)" in server.output
        with server.client() as client:
            yield client


def text(client: httpx.Client, **fields: Any) -> str:
    response = chat(client, **fields)
    assert response.status_code == 200, response.text
    found: str = response.json()["choices"][0]["message"]["content"]
    return found


def test_a_stream_is_the_same_text(client: httpx.Client) -> None:
    whole = text(client, **GREEDY)
    chunks = stream(client, **GREEDY)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == whole != ""


def test_the_same_seed_is_the_same_text(client: httpx.Client) -> None:
    first = text(client, seed=3, max_tokens=16)
    assert text(client, seed=3, max_tokens=16) == first != text(client, seed=4, max_tokens=16)


def test_a_stop_string_ends_the_answer(client: httpx.Client) -> None:
    whole = text(client, **GREEDY)
    letter = whole[5]
    response = chat(client, **GREEDY, stop=[letter]).json()["choices"][0]
    assert response["message"]["content"] == whole.partition(letter)[0]
    assert response["finish_reason"] == "stop"


def test_probabilities_are_told(client: httpx.Client) -> None:
    reply = chat(client, **GREEDY, logprobs=True, top_logprobs=3).json()
    tokens = reply["choices"][0]["logprobs"]["content"]
    assert len(tokens) == 16
    assert all(token["logprob"] == token["top_logprobs"][0]["logprob"] for token in tokens)


def test_several_choices_and_a_prefix_that_comes_back(client: httpx.Client) -> None:
    body = {"n": 3, "seed": 1, "max_tokens": 8, "top_k": 0, "temperature": 1.5}
    choices = chat(client, **body).json()["choices"]
    assert len({choice["message"]["content"] for choice in choices}) == 3
    again = chat(client, **body).json()
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert again["choices"] == choices


def test_tokens_are_the_tokenizers(client: httpx.Client) -> None:
    tokens = client.post("/tokenize", json={"content": "the man"}).json()["tokens"]
    assert client.post("/detokenize", json={"tokens": tokens}).json()["content"] == "the man"


def test_an_answer_is_held_to_a_schema(client: httpx.Client) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    thoughtless = {"thinking_budget_tokens": 0, "max_tokens": 100, "seed": 1}
    found = json.loads(text(client, response_format=form, **thoughtless))
    assert found in ({"a": 1}, {"a": 2})
