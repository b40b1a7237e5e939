"""Real streams, byte by byte, as the strictest clients read them.

Some check every `data:` line against a schema, some fail on a missing key, some on an order: what
is asserted here is what satisfies all of them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from tests.support.process import READY, SAFETY
from tests.support.weights import THREADS, TINY_HYBRID, serving

CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, "seed": 1}
SOON = {"</think>": 5}
"""A bias that ends the thinking after a few tokens."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(TINY_HYBRID, "-c", "4096") as server, server.client() as client:
        yield client


def frames(raw: bytes) -> list[str]:
    """The data of each event, to `[DONE]`; comments are left out."""
    *events, rest = raw.decode().split("\n\n")
    assert rest == ""
    assert "\r" not in raw.decode()
    assert all("\n" not in event for event in events)
    data = [event.removeprefix("data: ") for event in events if not event.startswith(": ")]
    assert len(data) == sum(event.startswith("data: ") for event in events)
    assert data[-1] == "[DONE]" and data.count("[DONE]") == 1
    return data[:-1]


def chunks(client: httpx.Client, path: str, **body: Any) -> list[dict[str, Any]]:
    with client.stream("POST", path, json={**body, "stream": True}) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache, no-transform"
        assert response.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in response.headers
        raw = b"".join(response.iter_raw())
    return [json.loads(data) for data in frames(raw)]


def check_heads(found: list[dict[str, Any]], kind: str) -> None:
    """What every chunk has, and what is the same in all of them."""
    assert all(isinstance(chunk["choices"], list) for chunk in found)
    assert {chunk["object"] for chunk in found} == {kind}
    for key, of in (("id", str), ("model", str), ("created", int)):
        assert len({chunk[key] for chunk in found}) == 1
        assert type(found[0][key]) is of
    assert all("error" not in chunk for chunk in found)


def check_usage(usage: dict[str, Any]) -> None:
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 0 <= usage["prompt_tokens_details"]["cached_tokens"] < usage["prompt_tokens"]
    thinking = usage["completion_tokens_details"]["reasoning_tokens"]
    assert 0 <= thinking <= usage["completion_tokens"]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("asked", [True, False], ids=["with usage", "without"])
@pytest.mark.parametrize("logprobs", [True, False], ids=["with logprobs", "without"])
def test_the_chunks_of_a_chat(client: httpx.Client, n: int, asked: bool, logprobs: bool) -> None:
    options = {"include_usage": True} if asked else None
    found = chunks(
        client,
        "/v1/chat/completions",
        **CHAT,
        n=n,
        logprobs=logprobs,
        logit_bias=SOON,
        stream_options=options,
    )
    check_heads(found, "chat.completion.chunk")
    last = found[-1]
    if asked:
        assert last["choices"] == []
        check_usage(last["usage"])
        assert last["usage"]["completion_tokens"] == last["timings"]["predicted_n"] == 40 * n
    assert all(chunk.get("usage") is None for chunk in (found[:-1] if asked else found))
    parts = [choice for chunk in found for choice in chunk["choices"]]
    for part in parts:
        assert set(part) == {"index", "delta", "logprobs", "finish_reason"}
    assert {part["index"] for part in parts} == set(range(n))
    thought = False
    for index in range(n):
        first, *middle, end = [part for part in parts if part["index"] == index]
        assert (first["delta"]["role"], first["finish_reason"]) == ("assistant", None)
        assert (end["delta"], end["finish_reason"]) == ({}, "length")
        kinds = [kind for part in middle for kind in part["delta"]]
        thought = thought or "reasoning_content" in kinds
        # First all of the thinking, then all of the answer, in one key at a time.
        assert len(kinds) == len(middle)
        assert set(kinds) <= {"reasoning_content", "content"}
        assert kinds == sorted(kinds, reverse=True)
        assert all(part["finish_reason"] is None for part in middle)
        if not logprobs:
            assert all(part["logprobs"] is None for part in middle)
        for part in middle:
            if part["logprobs"] is not None:
                assert "content" in part["delta"]
                keys = {"token", "logprob", "bytes", "top_logprobs"}
                assert all(set(token) == keys for token in part["logprobs"]["content"])
    assert thought or n == 1


def test_the_chunks_of_a_completion(client: httpx.Client) -> None:
    body = {"prompt": ["Once", "Twice"], "max_tokens": 5, "logprobs": 2, "echo": False}
    found = chunks(client, "/v1/completions", **body, stream_options={"include_usage": True})
    check_heads(found, "text_completion")
    check_usage(found[-1]["usage"])
    parts = [choice for chunk in found for choice in chunk["choices"]]
    for part in parts:
        assert set(part) == {"index", "text", "logprobs", "finish_reason"}
    for index in range(2):
        reasons = [part["finish_reason"] for part in parts if part["index"] == index]
        assert reasons == [None] * (len(reasons) - 1) + ["length"]


def test_a_whole_chat(client: httpx.Client) -> None:
    reply = client.post("/v1/chat/completions", json={**CHAT, "n": 4, "logit_bias": SOON}).json()
    assert reply["object"] == "chat.completion"
    check_usage(reply["usage"])
    for index, choice in enumerate(reply["choices"]):
        assert set(choice) == {"index", "message", "logprobs", "finish_reason"}
        assert (choice["index"], choice["logprobs"]) == (index, None)
        assert choice["message"]["role"] == "assistant"
        assert isinstance(choice["message"]["content"], str)
        assert "<think>" not in choice["message"]["content"]
    assert any(choice["message"].get("reasoning_content") for choice in reply["choices"])


def test_no_failure_is_anything_but_the_error_object(client: httpx.Client) -> None:
    """Paths, methods, bodies and fields that are wrong, over a real socket."""
    replies = [
        client.get("/v1/nothing"),
        client.get("/v1/chat/completions"),
        client.post("/v1/chat/completions", content=b"{"),
        client.post("/v1/chat/completions", content=b"\xff"),
        client.post("/v1/chat/completions", json={"messages": "Hi"}),
        client.post("/v1/chat/completions", json={**CHAT, "temperature": "hot"}),
        client.post("/v1/completions", json={"prompt": "Hi " * 5000}),
        client.post("/v1/chat/completions", json=CHAT, headers={"Origin": "https://evil.example"}),
    ]
    assert [reply.status_code for reply in replies] == [404, 405, 400, 400, 400, 400, 400, 403]
    for reply in replies:
        assert reply.headers["content-type"].startswith("application/json")
        assert set(reply.json()) == {"error"}
        assert set(reply.json()["error"]) >= {"message", "type", "param", "code"}
        assert reply.json()["error"]["type"] != "server_error"


def test_pages_of_this_machine_may_ask_and_others_may_not(client: httpx.Client) -> None:
    """A text/plain request is sent by browsers without asking first, so it must not be answered."""
    for origin in ("tauri://localhost", "http://tauri.localhost", "http://localhost:5173"):
        preflight = client.options(
            "/v1/chat/completions",
            headers={
                "Origin": origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang",
                "Access-Control-Request-Private-Network": "true",
            },
        )
        assert preflight.is_success
        assert preflight.headers["access-control-allow-origin"] == origin
        assert "x-stainless-lang" in preflight.headers["access-control-allow-headers"].lower()
        assert preflight.headers["access-control-allow-private-network"] == "true"
        reply = client.post("/v1/chat/completions", json=CHAT, headers={"Origin": origin})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == origin
    refused = client.post(
        "/v1/chat/completions",
        content=json.dumps(CHAT),
        headers={"Origin": "https://evil.example", "Content-Type": "text/plain"},
    )
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


PROGRAM = """
import sys
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_server.command import start
from hubserve_server.settings import Settings
model = ModelConfig(sys.argv[1], context_length=int(sys.argv[2]), threads=int(sys.argv[3]))
sys.exit(start(EngineConfig(model), Settings(port=0, keep_alive=0.05, log_level="warning")))
"""


@contextmanager
def impatient(context: int) -> Iterator[httpx.Client]:
    """A server that keeps a silent stream alive by far more comments than people need."""
    command = [sys.executable, "-c", PROGRAM, str(TINY_HYBRID), str(context), str(THREADS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            output = ""
            for line in process.stdout:
                output += line
                if READY in line:
                    break
            found = re.search(r"http://\S+:\d+", output)
            assert found, output
            with httpx.Client(base_url=found[0], timeout=SAFETY) as client:
                yield client
        finally:
            process.kill()


def test_comments_keep_a_stream_alive_while_the_prompt_is_read() -> None:
    """They come between the first chunk and the first text; no event is torn by them."""
    with impatient(context=16384) as client:
        body = {"prompt": "The sea is wide. " * 600, "max_tokens": 2, "stream": True}
        with client.stream("POST", "/v1/completions", json=body) as response:
            raw = b"".join(response.iter_raw())
    silent = raw.partition(b"data: ")[0]
    assert silent.startswith(b": ")
    assert set(silent.decode().strip().split("\n\n")) == {": ping"}
    assert json.loads(frames(raw)[-1])["choices"][0]["finish_reason"] == "length"
