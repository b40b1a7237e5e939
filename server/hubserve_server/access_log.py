"""One line a request: what was asked, how it ended, how much and how fast. Never the content."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubserve_engine.errors import EngineError, InvalidRequest
from hubserve_server.auth import OPEN_PATHS
from hubserve_server.errors import HttpError, describe, outcome
from hubserve_server.metrics import Metrics
from hubserve_server.note import Note, note_of
from hubserve_server.translate.counts import per_second

QUIET_PATHS = OPEN_PATHS | {"/metrics"}
"""What is asked again and again by programs that watch."""

logger = logging.getLogger(__name__)


class AccessLog:
    """The outermost layer, so that refusals are in the log too.

    Health checks and metrics are at debug, failures that are not the client's at warning.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note = note_of(scope)
        begun = time.monotonic()
        status, whole = 0, False

        async def watched(message: Message) -> None:
            nonlocal status, whole
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                whole = not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if status:
                self._metrics.responded(status)
            level = _level(scope, note.failure)
            if logger.isEnabledFor(level):
                seconds = time.monotonic() - begun
                logger.log(level, "%s", _line(scope, status, whole, seconds, note))


def _level(scope: Scope, failure: Exception | None) -> int:
    """A model that is only being loaded is no reason to warn."""
    if isinstance(failure, EngineError):
        result = outcome(failure)
        ours = result.status >= 500 and result.retry_after is None
    else:
        ours = failure is not None and not isinstance(failure, HttpError)
    if ours:
        return logging.WARNING
    return logging.DEBUG if scope["path"] in QUIET_PATHS else logging.INFO


def _reason(failure: Exception) -> str:
    """The code, and the message, unless that may quote what the client wrote."""
    detail = describe(failure)
    if isinstance(failure, InvalidRequest):
        return f"{detail.code} {detail.param}" if detail.param else str(detail.code)
    message = "".join(each if each.isprintable() else " " for each in detail.message)
    return f"{detail.code}: {message}"


def _line(scope: Scope, status: int, whole: bool, seconds: float, note: Note) -> str:
    # The path is shown as ASCII: a log line must not carry control characters of a stranger.
    path = ascii(scope["path"])[1:-1]
    parts = [scope["method"], path, str(status) if status else "-", f"{seconds:.2f}s"]
    if not whole:
        parts.append("(client left)")
    if note.failure is not None:
        parts.append(_reason(note.failure))
    if note.completed is not None:
        usage, timings = note.completed.usage, note.completed.timings
        parts.append(f"prompt {usage.prompt_tokens} ({usage.cached_tokens} cached)")
        speed = per_second(timings.predicted_n, timings.predicted_ms)
        parts.append(f"generated {usage.completion_tokens} at {speed:.1f}/s")
    return " ".join(parts)
