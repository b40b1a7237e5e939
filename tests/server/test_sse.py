"""The framing of streams: each chunk a line, an orderly end whatever happens."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import msgspec
import pytest
from tests.support.live_server import events

from hubserve_engine.errors import Cancelled
from hubserve_engine.types import Event, Started
from hubserve_server.sse import EventStream, frame


class Chunk(msgspec.Struct):
    text: str


async def source() -> AsyncGenerator[Event, None]:
    yield Started(1)


def test_a_chunk_is_one_line_however_a_client_tells_lines() -> None:
    text = "".join(map(chr, (*range(0x20), 0x7F, 0x85, 0xA0, 0x2028, 0x2029, 0x1F600)))
    framed = frame(Chunk(text)).decode()
    line, empty = framed.splitlines()
    assert empty == "" and framed.endswith("\n\n")
    assert msgspec.json.decode(line.removeprefix("data: "), type=Chunk) == Chunk(text)


def play(chunks: AsyncGenerator[Chunk, None], *, leaves: bool = False) -> str:
    """What the stream sends, as text; `leaves`: the client goes away after the first bytes."""
    sent: list[MutableMapping[str, Any]] = []

    async def run() -> None:
        gone = asyncio.Event()

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)
            if leaves and message.get("body"):
                gone.set()

        async def receive() -> MutableMapping[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        stream = EventStream(chunks, source=source(), keep_alive=60)
        await stream({"type": "http"}, receive, send)

    asyncio.run(run())
    assert sent[0]["type"] == "http.response.start"
    if not leaves:
        assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    return b"".join(message.get("body", b"") for message in sent).decode()


def test_a_chunk_is_one_line_whatever_is_in_it() -> None:
    assert frame(Chunk('a\n\n"é')) == 'data: {"text":"a\\n\\n\\"é"}\n\n'.encode()


def test_an_empty_stream_still_ends_properly() -> None:
    async def nothing() -> AsyncGenerator[Chunk, None]:
        return
        yield

    assert play(nothing()) == "data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("error", "code"), [(Cancelled("Stopping."), "cancelled"), (KeyError("x"), "internal_error")]
)
def test_a_failure_is_an_event_before_the_end(error: Exception, code: str) -> None:
    async def failing() -> AsyncGenerator[Chunk, None]:
        yield Chunk("a")
        raise error

    first, last = events(play(failing()))
    assert first == {"text": "a"}
    assert last["error"]["code"] == code


def test_the_source_is_closed_when_the_client_leaves() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncGenerator[Chunk, None]:
        try:
            while True:
                yield Chunk("a")
                await asyncio.sleep(0.01)
        finally:
            closed.append(True)

    assert "[DONE]" not in play(endless(), leaves=True)
    assert closed == [True]
