"""A bound on what a request may bring, whether it says its length or not."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubserve_engine.units import size_text
from hubserve_server.errors import ErrorResponse, HttpError
from hubserve_server.settings import Settings


class BodyLimit:
    """Refuses with 413 a body of more than `max_body` bytes, before it is read if possible."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._limit = settings.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > self._limit:
            await ErrorResponse(self._refusal())(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise self._refusal()
            return message

        await self._app(scope, counted, send)

    def _refusal(self) -> HttpError:
        return HttpError(
            413,
            f"The request body is larger than {size_text(self._limit)}, the most that this server"
            " takes; --max-body sets that limit.",
            code="request_too_large",
            headers={"Connection": "close"},
        )
