"""One line a request: what was asked, how it ended, how much and how fast. Never the content."""

import logging
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubserve_engine.types import Completed
from hubserve_server.auth import OPEN_PATHS
from hubserve_server.translate.counts import per_second

logger = logging.getLogger(__name__)

NOTE = "hubserve.note"


@dataclass(slots=True)
class Note:
    """What a route adds to the line."""

    completed: Completed | None = None

    def add(self, completed: Completed) -> None:
        self.completed = completed


class AccessLog:
    """The outermost layer, so that refusals are in the log too. Health checks are at debug."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note = scope[NOTE] = Note()
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
            level = logging.DEBUG if scope["path"] in OPEN_PATHS else logging.INFO
            if logger.isEnabledFor(level):
                seconds = time.monotonic() - begun
                logger.log(level, "%s", _line(scope, status, whole, seconds, note.completed))


def _line(
    scope: Scope, status: int, whole: bool, seconds: float, completed: Completed | None
) -> str:
    # The path is shown as ASCII: a log line must not carry control characters of a stranger.
    path = ascii(scope["path"])[1:-1]
    parts = [scope["method"], path, str(status) if status else "-", f"{seconds:.2f}s"]
    if not whole:
        parts.append("(client left)")
    if completed is not None:
        usage, timings = completed.usage, completed.timings
        parts.append(f"prompt {usage.prompt_tokens} ({usage.cached_tokens} cached)")
        speed = per_second(timings.predicted_n, timings.predicted_ms)
        parts.append(f"generated {usage.completion_tokens} at {speed:.1f}/s")
    return " ".join(parts)
