"""One HTTP connection: uvicorn's, with the bounds and the form of errors that it lacks."""

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hubserve_engine.units import size_text
from hubserve_server.responses import encode
from hubserve_server.settings import LAST_WORDS, Settings
from hubserve_server.wire.errors import ErrorDetail, ErrorReply

LARGEST_HEAD = 64 * 1024
"""Bytes that the first line and the headers of a request may have."""


class Connection(HttpToolsProtocol):
    """Answers in our JSON what never becomes a request, and lets no client stand still for ever.

    A head of more than `LARGEST_HEAD` bytes is a 431. A client that takes nothing of what is
    written for it is cut off after `write_timeout` seconds: to the application it has left.
    """

    write_timeout: float
    _watch: asyncio.TimerHandle | None = None
    _unread = 0
    _pending = 0  # bytes since the parser last had something to hand on

    def data_received(self, data: bytes) -> None:
        self._pending += len(data)
        super().data_received(data)
        if self._pending > LARGEST_HEAD:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        self._pending = 0
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > LARGEST_HEAD:
            self._refuse_head()
            raise ValueError("the head is too large")  # The parser goes no further.
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is not a valid HTTP request.", "invalid_http")

    def _refuse_head(self) -> None:
        self._refuse(
            431,
            f"The headers of this request are larger than {size_text(LARGEST_HEAD)}, the most that"
            " this server takes.",
            "headers_too_large",
        )

    def _refuse(self, status: int, message: str, code: str) -> None:
        """Closes the connection with an answer, unless it would stand in the middle of another."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            detail = ErrorDetail(message, "invalid_request_error", None, code)
            body = encode(ErrorReply(detail))
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
                "connection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_client()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        self.write_timeout = min(self.write_timeout, LAST_WORDS)
        if self._watch is not None:
            self._wait_for_client()

    def _wait_for_client(self) -> None:
        self._stop_waiting()
        self._unread = self.transport.get_write_buffer_size()
        self._watch = self.loop.call_later(self.write_timeout, self._look_after_client)

    def _stop_waiting(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _look_after_client(self) -> None:
        if self.transport.get_write_buffer_size() < self._unread:
            self._wait_for_client()  # It is slow, but it reads.
        else:
            self.transport.abort()


def connections(settings: Settings) -> type[Connection]:
    """The class of a server's connections."""

    class Configured(Connection):
        write_timeout = settings.write_timeout

    return Configured
