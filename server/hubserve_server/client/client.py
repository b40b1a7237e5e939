"""An OpenAI client that costs little beside what it measures.

Times are of `time.perf_counter`, in seconds.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hubserve_server.client.answers import Chunk, Completion, Events, Fault, Usage, decode
from hubserve_server.client.errors import CommandError, Refused
from hubserve_server.client.http import Http, base

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


class Client:
    """Of the server at `url`, which ends before `/chat/completions`; `model` is what it is asked
    for. `because` may know why a connection broke, such as that the process has ended."""

    def __init__(
        self, url: str, key: str | None, because: Callable[[], str | None] = lambda: None
    ) -> None:
        self.url = base(url)
        self.model = "default"
        self._http = Http(self.url, key, because)
        self._path = urlsplit(self.url).path

    async def first_model(self) -> str:
        """The id of the first model that the server lists."""
        status, _, body = await self.get(f"{self._path}/models")
        if status != 200:
            raise self._refused(status, body)
        try:
            return msgspec.json.decode(body, type=_Models).data[0].id
        except (msgspec.MsgspecError, IndexError):
            raise CommandError(
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
        async with self._http.request("GET", path) as reply:
            return reply.status, reply.headers, await reply.whole()

    async def complete(self, request: dict[str, Any]) -> Completion:
        """A chat's answer, whole. Raises Refused, and CommandError where there is no answer."""
        body = msgspec.json.encode({"model": self.model, **request})
        async with self._http.request("POST", f"{self._path}/chat/completions", body) as reply:
            content = await reply.whole()
        if reply.status != 200:
            raise self._refused(reply.status, content)
        try:
            return msgspec.json.decode(content, type=Completion)
        except msgspec.MsgspecError as error:
            raise self._no_answer("answered what is no chat", content, error) from error

    async def stream(self, request: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        """A chat's answer, chunk by chunk, until `[DONE]`. Raises as `complete` does."""
        body = msgspec.json.encode({"model": self.model, **request, "stream": True})
        async with self._http.request("POST", f"{self._path}/chat/completions", body) as reply:
            if reply.status != 200:
                raise self._refused(reply.status, await reply.whole())
            events = Events()
            async for part in reply.body:
                for event in events.feed(part):
                    chunk = self._chunk(event)
                    if chunk is None:
                        return
                    yield chunk
            raise self._http.broken("before an answer's end")

    async def chat(
        self,
        messages: list[Message],
        tokens: int,
        *,
        to_the_end: bool = True,
        on_text: Callable[[], None] = lambda: None,
    ) -> Answer:
        """A timed chat at temperature 0 of `tokens` tokens, or, if not `to_the_end`, of as many as
        the model likes below that. `on_text` is called as each piece arrives."""
        request: dict[str, Any] = {
            "messages": messages,
            "max_tokens": tokens,
            "temperature": 0,
            "stream_options": {"include_usage": True},
        }
        if to_the_end:
            request["ignore_eos"] = True
        arrivals: list[float] = []
        texts: list[str] = []
        usage: Usage | None = None
        reason: str | None = None
        began = time.perf_counter()
        async for chunk in self.stream(request):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                reason = choice.finish_reason or reason
                if text := choice.delta.text:
                    arrivals.append(time.perf_counter())
                    texts.append(text)
                    on_text()
        ended = time.perf_counter()
        if not arrivals:
            raise CommandError(
                f"{self.url} answered without any text, so there is nothing to time."
            )
        if usage is None and reason != "length":
            raise CommandError(
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

    def _chunk(self, event: bytes) -> Chunk | None:
        try:
            chunk = decode(event)
        except msgspec.MsgspecError as error:
            raise self._no_answer("streams what is no chunk of a chat", event, error) from error
        if chunk and chunk.error:
            raise Refused(f"{self.url} ended an answer: {chunk.error.message}")
        return chunk

    def _no_answer(self, what: str, content: bytes, error: Exception) -> Refused:
        return Refused(f"{self.url} {what}: {content[:80]!r} ({error}).")

    def _refused(self, status: int, body: bytes) -> Refused:
        try:
            said = msgspec.json.decode(body, type=_Refusal).error.message
        except msgspec.MsgspecError:
            said = body[:200].decode("utf-8", "replace").strip() or "nothing more"
        next_step = " The key is given with --api-key." if status in (401, 403) else ""
        return Refused(f"{self.url} answered {status}: {said}{next_step}")
