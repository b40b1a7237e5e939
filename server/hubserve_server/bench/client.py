"""An OpenAI client that costs little beside what it measures: plain HTTP/1.1 over asyncio.

A request has a connection of its own. Times are of `time.perf_counter`, in seconds.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from hubserve_server.bench.errors import BenchError
from hubserve_server.bench.sse import Chunk, Events, Fault, Usage, decode

PATIENCE = 900.0
"""Seconds that a request may take in all; a slow machine reads a long prompt for minutes."""

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """When it was asked for, when each piece of text arrived, when it ended, and what it was."""

    began: float
    arrivals: tuple[float, ...]
    ended: float
    text: str
    tokens: int
    prompt_tokens: int

    @property
    def first(self) -> float:
        """Seconds from the request to the first text."""
        return self.arrivals[0] - self.began

    @property
    def rate(self) -> float:
        """Tokens a second after the first. Counted in tokens: a piece may have several."""
        return (self.tokens - 1) / max(self.arrivals[-1] - self.arrivals[0], 1e-9)


class _Models(msgspec.Struct):
    class Model(msgspec.Struct):
        id: str

    data: list[Model]


class _Props(msgspec.Struct):
    build_info: str


class _Refusal(msgspec.Struct):
    error: Fault


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a reply, and the bytes that follow it."""

    status: int
    headers: dict[str, str]
    body: AsyncGenerator[bytes, None]


class Client:
    """Of the server at `url`, which ends before `/chat/completions`; `model` is what it is asked
    for. `because` may know why a connection broke, such as that the process has ended."""

    def __init__(
        self, url: str, key: str | None, because: Callable[[], str | None] = lambda: None
    ) -> None:
        self.url = _checked(url)
        self.model = "default"
        self._key = key
        self._because = because

    async def first_model(self) -> str:
        """The id of the first model that the server lists."""
        status, _, body = await self.get(f"{urlsplit(self.url).path}/models")
        if status != 200:
            raise self._refused(status, body)
        try:
            return msgspec.json.decode(body, type=_Models).data[0].id
        except (msgspec.MsgspecError, IndexError):
            raise BenchError(
                f"{self.url}/models lists no model: is it the base URL of an OpenAI API, such as"
                " http://localhost:8000/v1?"
            ) from None

    async def software(self) -> str:
        """What the server says it is: `build_info`, as llama-server and hubserve have it, or its
        `Server` header."""
        status, headers, body = await self.get("/props")
        with suppress(msgspec.MsgspecError):
            if status == 200:
                return msgspec.json.decode(body, type=_Props).build_info
        return headers.get("server", "it does not say what it is")

    async def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a path from the server's root."""
        async with self._request("GET", path) as reply:
            return reply.status, reply.headers, b"".join([part async for part in reply.body])

    async def chat(
        self,
        messages: list[Message],
        tokens: int,
        *,
        to_the_end: bool = True,
        on_text: Callable[[], None] = lambda: None,
    ) -> Answer:
        """A streamed chat at temperature 0 of `tokens` tokens, or, if not `to_the_end`, of as many
        as the model likes below that. `on_text` is called as each piece arrives."""
        body = {
            "model": self.model,
            "messages": messages,
            "max_tokens": tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if to_the_end:
            body["ignore_eos"] = True
        arrivals: list[float] = []
        texts: list[str] = []
        usage: Usage | None = None
        reason: str | None = None
        began = time.perf_counter()
        path = f"{urlsplit(self.url).path}/chat/completions"
        async with self._request("POST", path, msgspec.json.encode(body)) as reply:
            if reply.status != 200:
                raise self._refused(reply.status, b"".join([part async for part in reply.body]))
            async for chunk in self._chunks(reply.body):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    delta = choice.delta
                    text = delta.content or delta.reasoning_content or delta.reasoning
                    reason = choice.finish_reason or reason
                    if text:
                        arrivals.append(time.perf_counter())
                        texts.append(text)
                        on_text()
            ended = time.perf_counter()
        if not arrivals:
            raise BenchError(f"{self.url} answered without any text, so there is nothing to time.")
        if usage is None and reason != "length":
            raise BenchError(
                f"{self.url} sends no usage in its streams (stream_options.include_usage), so its"
                " tokens cannot be counted."
            )
        # An answer that was cut for its length has as many tokens as were asked for.
        counted = usage or Usage(0, tokens)
        return Answer(
            began,
            tuple(arrivals),
            ended,
            "".join(texts),
            counted.completion_tokens,
            counted.prompt_tokens,
        )

    async def _chunks(self, body: AsyncGenerator[bytes, None]) -> AsyncGenerator[Chunk, None]:
        events = Events()
        async for part in body:
            for event in events.feed(part):
                try:
                    chunk = decode(event)
                except msgspec.MsgspecError as error:
                    raise BenchError(
                        f"{self.url} streams what is no chunk of a chat: {event[:80]!r} ({error})."
                    ) from error
                if chunk is None:
                    return
                if chunk.error:
                    raise BenchError(f"{self.url} ended an answer: {chunk.error.message}")
                yield chunk
        raise self._broken("before an answer's end")

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, body: bytes = b""
    ) -> AsyncGenerator[Reply, None]:
        parts = urlsplit(self.url)
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
            raise BenchError(f"{self.url} took longer than {PATIENCE:g} s to answer.") from None
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            if isinstance(error, ConnectionRefusedError):
                raise self._broken(None) from None
            raise self._broken(f"({error})") from error

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        status = (await reader.readline()).split(b" ", 2)
        if len(status) < 2 or not status[0].startswith(b"HTTP/") or not status[1].isdigit():
            raise self._broken("where an HTTP status was expected")
        headers: dict[str, str] = {}
        while (line := (await reader.readline()).strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        body = _chunked(reader) if chunked else _plain(reader, headers.get("content-length"))
        return Reply(int(status[1]), headers, body)

    def _broken(self, where: str | None) -> BenchError:
        if because := self._because():
            return BenchError(because)
        if where is None:
            return BenchError(f"Nothing listens at {self.url}: is the server running?")
        return BenchError(f"{self.url} broke the connection {where}.")

    def _refused(self, status: int, body: bytes) -> BenchError:
        try:
            said = msgspec.json.decode(body, type=_Refusal).error.message
        except msgspec.MsgspecError:
            said = body[:200].decode("utf-8", "replace").strip() or "nothing more"
        next_step = " The key is given with --api-key." if status in (401, 403) else ""
        return BenchError(f"{self.url} answered {status}: {said}{next_step}")


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


def _checked(url: str) -> str:
    """A base URL without a slash at its end; one that has no path is given OpenAI's `/v1`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        sound = False
    if not sound:
        raise BenchError(f"{url!r} is not a base URL; one is such as http://localhost:8000/v1.")
    return url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"
