"""Who may talk to the server at all: the Host and Origin headers, looked at before any work.

CORS headers alone do not protect a local server. A page of any web site can post text/plain to it
without asking first, and DNS rebinding makes a site's own name point to this machine: to the
browser such a page and this server are the same site. Only the name gives it away, since a page has
the name that it was loaded by. Where keys are asked for, that page has none.
"""

import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hubserve_server.errors import ErrorResponse, HttpError
from hubserve_server.settings import LOCAL_ORIGINS, Settings, is_address, is_loopback

PRIVATE_ENDINGS = (".internal", ".home.arpa")
"""Endings reserved for private networks; `host.docker.internal` is a container's name for us."""


def origin_pattern(origins: Iterable[str]) -> str:
    """A regular expression that matches the allowed origins whole."""
    return "|".join(_pattern(origin.strip().rstrip("/").lower()) for origin in origins)


def _pattern(origin: str) -> str:
    if origin == "*":
        return ".*"
    origin, any_port = origin.removesuffix(":*"), origin.endswith(":*")
    escaped = re.escape(origin).replace(r"\*", r"[^/\s]*")
    return escaped + (r"(:\d+)?" if any_port else "")


class Guard:
    """Refuses with 403 a request from an origin, or to a host name, that is not allowed.

    On a loopback address only loopback names and `allowed_hosts` are. On others so is every name
    that no web site can have, and any name at all where keys are asked for, or `*` is allowed. A
    page of the server's own name is refused where only that `*` lets the name in.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._origins = re.compile(origin_pattern((*LOCAL_ORIGINS, *settings.cors_origins)))
        self._loopback = settings.loopback
        self._keys = bool(settings.api_keys)
        self._any_host = "*" in settings.allowed_hosts
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)
        self._own_name = socket.gethostname().lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                await ErrorResponse(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> HttpError | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        known = not host or self._known(_host_name(host))
        if not known and not self._any_host:
            return HttpError(
                403,
                f"The host name {host[:200]!r} is not allowed on this server. If it is yours, start"
                " the server with --allowed-hosts and that name.",
                type="permission_error",
                code="host_not_allowed",
            )
        if origin is not None and not self._origin_allowed(origin, host, known):
            return HttpError(
                403,
                _origin_refused(origin[:200]),
                type="permission_error",
                code="origin_not_allowed",
            )
        return None

    def _known(self, name: str) -> bool:
        """Whether it cannot be the name of a page that was made to point here."""
        name = name.lower()
        if name in self._hosts or is_loopback(name):
            return True
        return not self._loopback and (self._keys or self._is_private(name))

    def _is_private(self, name: str) -> bool:
        """Whether no web site has such a name: an address, or one of a network like this."""
        if name in (self._own_name, f"{self._own_name}.local"):
            return True
        return "." not in name or name.endswith(PRIVATE_ENDINGS) or is_address(name)

    def _origin_allowed(self, origin: str, host: str, known: bool) -> bool:
        lowered = origin.lower()
        if self._origins.fullmatch(lowered):
            return True
        scheme, _, authority = lowered.partition("://")
        return known and scheme in ("http", "https") and authority == host.lower() != ""


def _origin_refused(origin: str) -> str:
    if origin == "null":
        return (
            "A page that was opened as a file, or in a sandbox, has the origin 'null' and may not"
            " use this server. Serve the page over http from this machine, for example with"
            " `python3 -m http.server`; --cors-origins null would let the sandboxed frames of"
            " every web site in too."
        )
    return (
        f"Pages of the origin {origin!r} may not use this server. If you trust them, start the"
        " server with --cors-origins and that origin."
    )


def _host_name(host: str) -> str:
    """The name in a Host header, without its port; the header as it is, if it is not one."""
    try:
        return urlsplit(f"//{host}").hostname or host
    except ValueError:
        return host
