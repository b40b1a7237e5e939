"""What a real model writes reaches the client whole: characters, stop strings, long prompts.

After many repetitions the next word is far likelier than all others, so the text is known.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.crowd import streamed
from tests.support.fetched import real_model
from tests.support.live_server import events
from tests.support.weights import serving

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Without any option: what is chosen by itself is part of the tests."""
    with serving(real_model("smollm2")) as server, server.client() as client:
        yield client


def repeating(word: str, **fields: Any) -> dict[str, Any]:
    return {"prompt": ", ".join([word] * 12) + ",", "temperature": 0, **fields}


def completed(client: httpx.Client, **body: Any) -> dict[str, Any]:
    reply = client.post("/v1/completions", json=body)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("word", ["😀", "👩‍🚀", "🇩🇪", "東京", "नमस्ते", "Привет", "naïve"])
def test_characters_that_are_split_over_tokens_stay_whole(client: httpx.Client, word: str) -> None:
    pieces = client.post("/tokenize", json={"content": f" {word}"}).json()["tokens"]
    body = repeating(word, max_tokens=2 * (len(pieces) + 1))
    response = client.post("/v1/completions", json={**body, "stream": True})
    chunks = [chunk["choices"][0]["text"] for chunk in events(response.text)]
    assert "".join(chunks) == f" {word}, {word},"
    assert completed(client, **body)["choices"][0]["text"] == f" {word}, {word},"


@pytest.mark.parametrize(
    ("word", "stop", "text"),
    [
        ("red", ["red, red"], " "),
        ("red", [", red,"], " red"),
        ("red", ["ed", "red"], " "),
        ("red", ["ed, red, blue", "d, re"], " re"),
        ("red", ["d", "red, red"], " re"),
        ("👩‍🚀", ["🚀"], " 👩\u200d"),
        ("東京", ["京, 東"], " 東"),
        ("Привет", ["ет, При", "т, Привет"], " Прив"),
    ],
)
def test_stop_strings_never_leak(
    client: httpx.Client, word: str, stop: list[str], text: str
) -> None:
    body = repeating(word, stop=stop, max_tokens=40)
    one = streamed(client, **body)
    assert (one.text, one.finish_reason) == (text, "stop")
    choice = completed(client, **body)["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (text, "stop")


def test_a_beginning_of_a_stop_string_is_not_lost(client: httpx.Client) -> None:
    body = repeating("red", stop=["red, blue", "d, red, red!"], max_tokens=6)
    assert streamed(client, **body).text == " red, red, red,"
    assert completed(client, **body)["choices"][0]["text"] == " red, red, red,"


def test_the_context_is_the_models_own(client: httpx.Client) -> None:
    (model,) = client.get("/v1/models").json()["data"]
    assert model["meta"]["n_ctx"] == model["meta"]["n_ctx_train"] == 8192
    assert client.get("/props").json()["default_generation_settings"]["n_ctx"] == 8192


def test_a_long_prompt_is_read_whole_and_read_once(client: httpx.Client) -> None:
    """The second turn reads its own words only."""
    first = {"role": "user", "content": "The password is swordfish. " + "Wait for it. " * 150}
    rendered = client.post("/apply-template", json={"messages": [first]}).json()["prompt"]
    tokens = client.post("/tokenize", json={"content": rendered}).json()["tokens"]
    assert len(tokens) > 600
    body: dict[str, Any] = {"messages": [first], "temperature": 0, "max_tokens": 5}
    reply = client.post("/v1/chat/completions", json=body).json()
    assert reply["usage"]["prompt_tokens"] == len(tokens)
    assert reply["timings"]["prompt_n"] + reply["timings"]["cache_n"] == len(tokens)

    answer = reply["choices"][0]["message"]
    body["messages"] = [first, answer, {"role": "user", "content": "Go on."}]
    second = client.post("/v1/chat/completions", json=body).json()
    cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert len(tokens) <= cached < second["usage"]["prompt_tokens"]
    assert second["timings"]["cache_n"] == cached


def test_chats_in_the_background_leave_the_conversation_its_prefix(client: httpx.Client) -> None:
    """As a chat page does: titles, tags and questions are asked for while the chat goes on."""
    talk = [{"role": "user", "content": "Tell me of the sea. " * 20}]
    body: dict[str, Any] = {"messages": talk, "temperature": 0, "max_tokens": 4}
    first = client.post("/v1/chat/completions", json=body).json()
    for task in ("title", "tags", "questions"):
        asked = f"### Task: find {task} for this chat: {talk[0]['content'][:40]}"
        side = {"messages": [{"role": "user", "content": asked}], "max_tokens": 4}
        assert client.post("/v1/chat/completions", json=side).status_code == 200
    more = [first["choices"][0]["message"], {"role": "user", "content": "Go on."}]
    second = client.post("/v1/chat/completions", json={**body, "messages": talk + more}).json()
    cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= first["usage"]["prompt_tokens"]
