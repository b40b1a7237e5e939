"""HTTP/1.1 over asyncio that costs little beside what is measured; a connection a request."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from hubserve_server.client.errors import CommandError

PATIENCE = 900.0
"""Seconds that a request may take in all; a slow machine reads a long prompt for minutes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a reply, and the bytes that follow it."""

    status: int
    headers: dict[str, str]
    body: AsyncGenerator[bytes, None]

    async def whole(self) -> bytes:
        return b"".join([part async for part in self.body])


class Http:
    """Of the server at `url`, a checked base URL. `because` may know why a connection broke."""

    def __init__(self, url: str, key: str | None, because: Callable[[], str | None]) -> None:
        self._url = url
        self._key = key
        self._because = because

    @asynccontextmanager
    async def request(
        self, method: str, path: str, body: bytes = b""
    ) -> AsyncGenerator[Reply, None]:
        """`path` is from the server's root. Raises CommandError for whatever breaks it."""
        parts = urlsplit(self._url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        head = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
        head += ["Accept: */*", "Connection: close"]
        if self._key:
            head.append(f"Authorization: Bearer {self._key}")
        if body:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        data = "\r\n".join([*head, "", ""]).encode() + body
        try:
            async with asyncio.timeout(PATIENCE):
                context = ssl.create_default_context() if secure else None
                reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
                try:
                    writer.write(data)
                    yield await self._reply(reader)
                finally:
                    writer.close()
                    with suppress(OSError):
                        await writer.wait_closed()
        except TimeoutError:
            raise CommandError(f"{self._url} took longer than {PATIENCE:g} s to answer.") from None
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            if isinstance(error, ConnectionRefusedError):
                raise self.broken(None) from None
            raise self.broken(f"({error})") from error

    def broken(self, where: str | None) -> CommandError:
        """What a broken connection is told as; `where` None if there was none at all."""
        if because := self._because():
            return CommandError(because)
        if where is None:
            return CommandError(f"Nothing listens at {self._url}: is the server running?")
        return CommandError(f"{self._url} broke the connection {where}.")

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        status = (await reader.readline()).split(b" ", 2)
        if len(status) < 2 or not status[0].startswith(b"HTTP/") or not status[1].isdigit():
            raise self.broken("where an HTTP status was expected")
        headers: dict[str, str] = {}
        while (line := (await reader.readline()).strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        body = _chunked(reader) if chunked else _plain(reader, headers.get("content-length"))
        return Reply(int(status[1]), headers, body)


def base(url: str) -> str:
    """A base URL without a slash at its end; one that has no path is given OpenAI's `/v1`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        sound = False
    if not sound:
        raise CommandError(f"{url!r} is not a base URL; one is such as http://localhost:8000/v1.")
    return url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"


async def _chunked(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while size := int((await reader.readline()).partition(b";")[0], 16):
        yield (await reader.readexactly(size + 2))[:size]


async def _plain(reader: asyncio.StreamReader, length: str | None) -> AsyncGenerator[bytes, None]:
    """A body of known length, or one that ends with its connection."""
    if length is not None:
        yield await reader.readexactly(int(length))
        return
    while data := await reader.read(65536):
        yield data
