"""A client that leaves stops the work for it, while its prompt is read and while text is written.

What was read and written until then is kept as a prefix for the next request that begins alike. So
such a request shows what became of the work: it finds a prefix only if the sequence that made it is
over, and only a part of the whole if it was over early. No clock is needed for that.
"""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from tests.support.process import SAFETY, Served
from tests.support.weights import TINY_HYBRID, serving, worker

LONG = list(b"The sea is wide. " * 400)
"""A prompt as token ids: in the tiny models' vocabulary a byte has its own number."""

START = list(b"Once upon a time")
X = ord("x")
ENDLESS: dict[str, Any] = {"prompt": START, "logit_bias": {X: 100}, "ignore_eos": True}
"""Nothing but this letter, to the end of a large context, so that all that is written is known."""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(TINY_HYBRID, "-np", "4", "-c", "60000") as server:
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def turns() -> Iterator[None]:
    """Turns of waiting, up to a limit that only a fault reaches."""
    deadline = time.monotonic() + SAFETY
    while time.monotonic() < deadline:
        yield
        time.sleep(0.05)
    pytest.fail("this should have happened long ago")


def used(server: Served) -> float:
    """Seconds of processor time of the worker."""
    times = worker(server).cpu_times()
    return float(times.user + times.system)


def until_busy(client: httpx.Client, server: Served) -> None:
    """Waits until the worker works on a request that was just sent."""
    start = used(server)
    for _ in turns():
        if client.get("/health").json()["active"] and used(server) > start + 0.2:
            return


def until_idle(client: httpx.Client, server: Served) -> None:
    """Waits until no request is counted, and the worker does nothing any more."""
    for _ in turns():
        before = used(server)
        time.sleep(0.3)
        if not client.get("/health").json()["active"] and used(server) == before:
            return


def left_behind(client: httpx.Client, tokens: list[int]) -> int:
    """How many of these tokens are read already."""
    reply = client.post("/v1/completions", json={"prompt": tokens, "max_tokens": 1})
    assert reply.status_code == 200, reply.text
    usage = reply.json()["usage"]
    assert usage["prompt_tokens"] == len(tokens)
    cached: int = usage["prompt_tokens_details"]["cached_tokens"]
    return cached


@contextmanager
def asking(client: httpx.Client, server: Served, *, stream: bool, **body: Any) -> Iterator[None]:
    """A request that is being worked on; its connection is closed at the end of the block."""
    content = json.dumps({**body, "stream": stream})
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SAFETY) as connection:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(content)}"
        connection.sendall(f"{head}\r\n\r\n{content}".encode())
        until_busy(client, server)
        yield


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_while_the_prompt_is_read(client: httpx.Client, server: Served, stream: bool) -> None:
    tokens = [ord("A" if stream else "B"), *LONG]
    with asking(client, server, stream=stream, prompt=tokens):
        pass
    assert 0 < left_behind(client, tokens) < len(tokens) - 1
    until_idle(client, server)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_while_text_is_written(client: httpx.Client, server: Served, stream: bool) -> None:
    start = [*START, ord("A" if stream else "B")]
    with asking(client, server, stream=stream, **{**ENDLESS, "prompt": start}):
        pass
    longer = [*start, *[X] * 4000]
    assert len(start) < left_behind(client, longer) < len(longer) - 1
    until_idle(client, server)


def test_all_choices_of_a_request(client: httpx.Client, server: Served) -> None:
    with asking(client, server, stream=True, n=4, **ENDLESS):
        assert client.get("/health").json()["active"] == 1
    until_idle(client, server)


def test_while_it_waits_for_its_turn(client: httpx.Client, server: Served) -> None:
    """The one that runs is not touched, and the one that left is not run later."""
    with asking(client, server, stream=True, n=4, **ENDLESS):
        with asking(client, server, stream=True, **ENDLESS):
            assert client.get("/health").json()["active"] == 2
        for _ in turns():
            if client.get("/health").json()["active"] == 1:
                break
        until_busy(client, server)
    until_idle(client, server)
