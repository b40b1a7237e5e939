"""Many requests at the same time, over real sockets."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from tests.support.live_server import events

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Streamed:
    """What a client has of one streamed completion."""

    text: str = ""
    finish_reason: str | None = None
    completion_tokens: int = 0


def streamed(client: httpx.Client, **body: Any) -> Streamed:
    """One completion, as a stream whose end must be as it should."""
    options = {"stream": True, "stream_options": {"include_usage": True}}
    response = client.post("/v1/completions", json={**body, **options})
    assert response.status_code == 200, response.text
    found = Streamed()
    for chunk in events(response.text):
        assert "error" not in chunk
        for choice in chunk["choices"]:
            found.text += choice["text"]
            found.finish_reason = choice["finish_reason"] or found.finish_reason
        if "usage" in chunk:
            found.completion_tokens = chunk["usage"]["completion_tokens"]
    return found


def at_once(call: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The result for each item, asked for at the same time."""
    waiting = list(items)
    with ThreadPoolExecutor(len(waiting)) as pool:
        return list(pool.map(call, waiting))
