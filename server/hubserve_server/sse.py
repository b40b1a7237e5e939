"""Server-sent events: frames, comments that keep a silent stream alive, and an orderly end."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hubserve_engine.errors import EngineError
from hubserve_engine.types import Event
from hubserve_server.disconnect import ClientGone, unless_gone
from hubserve_server.errors import describe
from hubserve_server.note import Note, note_of
from hubserve_server.responses import encode
from hubserve_server.wire.errors import ErrorReply

logger = logging.getLogger(__name__)

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"

# Proxies must neither collect nor compress the stream.
HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Connection": "keep-alive",
}


# Characters that end a line to Python's `str.splitlines`, by which some clients read streams. JSON
# escapes all others.
_LINE_ENDS = tuple((mark.encode(), f"\\u{ord(mark):04x}".encode()) for mark in "\x85\u2028\u2029")


def frame(chunk: object) -> bytes:
    line = encode(chunk)
    if not line.isascii():
        for mark, escaped in _LINE_ENDS:
            line = line.replace(mark, escaped)
    return b"data: %b\n\n" % line


class EventStream(Response):
    """Sends each chunk as it comes; a failure on the way is an error event before `[DONE]`.

    `source` is where the chunks come from: it is closed when the stream ends, for whatever reason.
    `keep_alive` is the longest silence, in seconds.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[msgspec.Struct, None],
        *,
        source: AsyncGenerator[Event, None],
        keep_alive: float,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._chunks = chunks
        self._source = source
        self._keep_alive = keep_alive
        self._last_sent = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._source):
            try:
                await unless_gone(receive, self._run(send, note_of(scope)))
            except ClientGone:
                logger.debug("a client left its stream")

    async def _run(self, send: Send, note: Note) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": self.raw_headers},
        )
        pings = asyncio.create_task(self._ping(send))
        try:
            async with aclosing(self._chunks) as chunks:
                async for chunk in chunks:
                    await self._write(send, frame(chunk))
        except EngineError as error:
            note.failure = error
            await self._write(send, frame(ErrorReply(describe(error))))
        except Exception as error:
            logger.exception("a stream failed")
            note.failure = error
            await self._write(send, frame(ErrorReply(describe(error))))
        finally:
            pings.cancel()
            await asyncio.gather(pings, return_exceptions=True)
        await self._write(send, DONE)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, send: Send, data: bytes) -> None:
        self._last_sent = asyncio.get_running_loop().time()
        await send({"type": "http.response.body", "body": data, "more_body": True})

    async def _ping(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        self._last_sent = loop.time()
        while True:
            silence = loop.time() - self._last_sent
            if silence >= self._keep_alive:
                await self._write(send, PING)
                silence = 0.0
            await asyncio.sleep(self._keep_alive - silence)
