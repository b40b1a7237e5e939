"""API keys, where the server was started with some."""

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hubserve_server.errors import ErrorResponse, HttpError
from hubserve_server.settings import Settings

BLANKS = " \t"
"""What may stand around a header's value."""

OPEN_PATHS = frozenset({"/health", "/v1/health"})


class Auth:
    """Refuses with 401 a request without one of the keys, as Bearer token or as x-api-key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._keys = [key.encode() for key in settings.api_keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._keys and scope["path"] not in OPEN_PATHS:
            given = _key(Headers(scope=scope))
            if given is None or not self._known(given):
                await ErrorResponse(_refusal(given))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _known(self, given: bytes) -> bool:
        """Compares with every key in the same time, whichever it is."""
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        return any(matches)


def _key(headers: Headers) -> bytes | None:
    """The key as bytes: header values are latin-1 to ASGI, whatever the client meant.

    What latin-1 has for white space beyond ASCII may be the end of a character in UTF-8.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip(BLANKS):
        return token.strip(BLANKS).encode("latin-1")
    other = headers.get("x-api-key", "").strip(BLANKS)
    return other.encode("latin-1") if other else None


def _refusal(given: bytes | None) -> HttpError:
    what = "An API key is needed" if given is None else "The API key is not one of this server's"
    return HttpError(
        401,
        f"{what}: send it as 'Authorization: Bearer KEY' or as 'x-api-key: KEY'.",
        type="authentication_error",
        code="invalid_api_key",
        headers={"WWW-Authenticate": "Bearer"},
    )
