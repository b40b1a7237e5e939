"""An engine for tests of the HTTP side: it answers at once with what the test gave it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hubserve_engine.errors import InvalidRequest, Loading, ModelNotFound, Unavailable
from hubserve_engine.model_info import DiskUse, ModelInfo, Running
from hubserve_engine.types import (
    Chat,
    Completed,
    Delta,
    Event,
    Finished,
    FinishReason,
    Rendered,
    Request,
    Sampling,
    Stage,
    Started,
    Timings,
    TokenLogprob,
    TokenProbability,
    Usage,
)

MODEL_ID = "owner/Tiny-GGUF:sub/Tiny-Q4_K_M.gguf"

INFO = ModelInfo(
    id=MODEL_ID,
    aliases=("owner/Tiny-GGUF", "Tiny-Q4_K_M.gguf", "Tiny-Q4_K_M", "tiny"),
    architecture="llama",
    name="Tiny",
    quantization="Q4_K_M",
    size=98_000_000,
    parameters=134_515_008,
    vocabulary=256,
    embedding_length=64,
    context_length=4096,
    context_trained=8192,
    context_limit="what fits into memory",
    parallel=4,
    engine="scripted",
    engine_reason="asked for",
    hardware="2 threads",
    draft_max=15,
    running=Running(threads=2, batch=256),
    memory=200_000_000,
    path="/models/Tiny-Q4_K_M.gguf",
    chat_template="{% if enable_thinking %}{% endif %}",
    bos="<s>",
    eos="</s>",
    sampling=Sampling(),
    thinking_tags=("<think>", "</think>"),
    thinking_switch="enable_thinking",
    tool_format="hermes",
    disk=DiskUse(folder="/caches/hubserve/prefixes", used=1_288_490_189, limit=4 * 1024**3),
    notices=("The template has no tools.",),
    created=1_700_000_000,
)


@dataclass
class FakeEngine:
    """Each choice is `reasoning`, then `content`, piece by piece, `pause` seconds apart.

    `content_of` gives each request its own content. `stuck` never comes to a first event.
    `error` is raised after `error_after` events (0: before anything). `endless` repeats the content
    for ever. `left` is set when a request is ended from outside, `requests` keeps what came.
    """

    content: Sequence[str] = ("Hel", "lo")
    content_of: Callable[[Request], Sequence[str]] | None = None
    reasoning: Sequence[str] = ()
    finish: FinishReason = "stop"
    error: Exception | None = None
    error_after: int = 0
    pause: float = 0.0
    silence: float = 0.0
    endless: bool = False
    stuck: bool = False
    stage: Stage = "ready"
    progress: str = ""
    loaded: float = 0.0
    requests: list[Request] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    active: int = 0
    waiting: int = 0
    restarts: int = 0

    @property
    def info(self) -> ModelInfo:
        if self.stage == "unavailable":
            raise Unavailable("The model cannot be run.")
        if self.stage != "ready":
            raise Loading("The model is not ready yet.")
        return INFO

    async def start(self) -> None:
        pass

    async def wait_ready(self) -> ModelInfo:
        return self.info

    async def close(self, *, grace: float = 0.0) -> None:
        pass

    def served(self, name: str | None) -> ModelInfo:
        info = self.info
        if name in (None, "", "default", info.id, *info.aliases):
            return info
        raise ModelNotFound(f"No model {name!r} is served; there is {info.id!r}.", param="model")

    async def generate(self, request: Request) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        self.active += 1
        ended = False
        try:
            while self.stuck:
                await asyncio.sleep(1)
            for position, event in enumerate(self._events(request)):
                if self.error is not None and position == self.error_after:
                    ended = True
                    raise self.error
                yield event
                await asyncio.sleep(self.silence if isinstance(event, Started) else self.pause)
            ended = True
        finally:
            self.active -= 1
            if not ended:
                self.left.set()

    def _events(self, request: Request) -> Iterable[Event]:
        prompt = 7
        yield Started(prompt)
        content = self.content_of(request) if self.content_of else self.content
        pieces = len(content) + len(self.reasoning)
        for piece in self.reasoning:
            for index in range(request.n):
                yield Delta(index, "reasoning", piece)
        while True:
            offset = 0
            for piece in content:
                for index in range(request.n):
                    yield Delta(index, "content", piece, self._logprobs(request, piece, offset))
                offset += len(piece)
            if not self.endless:
                break
        for index in range(request.n):
            yield Finished(index, self.finish, pieces, len(self.reasoning))
        made = pieces * request.n
        yield Completed(
            Usage(prompt, 3, made, len(self.reasoning) * request.n),
            Timings(
                cache_n=3,
                prompt_n=4,
                prompt_ms=8.0,
                predicted_n=made,
                predicted_ms=100.0,
                cache_tier="kept",
            ),
        )

    def _logprobs(self, request: Request, piece: str, offset: int) -> tuple[TokenLogprob, ...]:
        if request.logprobs is None:
            return ()
        chosen = TokenProbability(1, piece.encode(), -0.5)
        others = (chosen, TokenProbability(2, b"\xf0\x9f", float("-inf")))
        return (TokenLogprob(chosen, others[: request.logprobs], offset),)

    async def _question(self) -> None:
        try:
            while self.stuck:
                await asyncio.sleep(1)
        except asyncio.CancelledError:
            self.left.set()
            raise

    async def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        await self._question()
        return [1] * add_special + list(text.encode())

    async def pieces(self, tokens: Sequence[int]) -> list[bytes]:
        await self._question()
        if any(token > 255 for token in tokens):
            raise InvalidRequest("A token id is outside the vocabulary.", param="tokens")
        return [bytes([token]) for token in tokens]

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return b"".join(await self.pieces(tokens)).decode(errors="replace")

    async def render(self, chat: Chat) -> Rendered:
        await self._question()
        self.chats.append(chat)
        text = "".join(f"<{each.role}>{each.content or ''}" for each in chat.messages)
        return Rendered(text, thinking_open=False)
