"""The engine as the server sees it. `Engine.generate` is the whole story of a request."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import replace

from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.config import LONGEST_TEXT, MOST_TOKENS, EngineConfig
from hubserve_engine.disk_cache import settle
from hubserve_engine.engines import find
from hubserve_engine.errors import (
    Busy,
    Cancelled,
    InvalidRequest,
    Loading,
    ModelNotFound,
)
from hubserve_engine.loading import loaded_model, order
from hubserve_engine.model_info import ModelInfo
from hubserve_engine.select import Choice
from hubserve_engine.supervisor import Supervisor
from hubserve_engine.threads import in_thread
from hubserve_engine.types import Chat, Event, Rendered, Request, Stage, WorkerEvent
from hubserve_engine.worker.handle import WorkerHandle
from hubserve_engine.worker.spawn import Spawned

_CLEARING = 2.0
"""Seconds that an export which is ended may take to clear up."""


class Engine:
    """One served model. Use it on one event loop; `start` it first and `close` it last.

    `spawned` is a worker's process that has nothing to do yet, and is the engine's from now on.
    `stage` and `progress` say how far the start has come; `progress` is a sentence to show.
    """

    def __init__(self, config: EngineConfig, *, spawned: Spawned | None = None) -> None:
        self._config = config
        self._spawned = spawned
        self._supervisor: Supervisor | None = None
        self._info: ModelInfo | None = None
        self._start: asyncio.Task[ModelInfo] | None = None
        self._stage: Stage = "starting"
        self._requests = 0
        self._questions = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closing = False
        self._exported = 0.0
        self._ended, self._found = threading.Event(), threading.Event()
        self.progress = ""

    @property
    def stage(self) -> Stage:
        if self._supervisor is not None and not self._supervisor.available:
            return "unavailable"
        if self._stage == "ready" and not (self._supervisor and self._supervisor.ready):
            return "loading"  # again, after a death
        return self._stage

    @property
    def loaded(self) -> float:
        """How much of the model is loaded, or of its checkpoint exported, from 0 to 1."""
        return self._supervisor.loaded if self._supervisor is not None else self._exported

    @property
    def restarts(self) -> int:
        """How often the model's process was started again."""
        return self._supervisor.restarts if self._supervisor is not None else 0

    @property
    def info(self) -> ModelInfo:
        """The served model. Raises Loading."""
        if self._info is None:
            raise Loading(f"The model is not ready yet ({self.stage}); try again in a moment.")
        return self._info

    @property
    def active(self) -> int:
        """Requests that hold or wait for a slot, at most as many as there are slots."""
        return min(self._requests, self._config.model.parallel)

    @property
    def waiting(self) -> int:
        """Requests beyond `active`."""
        return self._requests - self.active

    async def start(self) -> None:
        """Begin to resolve and load; `wait_ready` tells how that went."""
        self._start = asyncio.create_task(self._load())

    async def wait_ready(self) -> ModelInfo:
        """The model, once it is loaded. Raises StartError."""
        assert self._start is not None, "start comes first"
        return await asyncio.shield(self._start)

    async def close(self, *, grace: float = 0.0) -> None:
        """Take no more requests, let running ones end for `grace` seconds, then end the worker."""
        self._closing = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._quiet.wait(), grace)
        self._ended.set()
        if self._start is not None and not self._start.done():
            self._start.cancel()
            await asyncio.wait([self._start])
            if self._stage == "exporting":
                # What is half written goes away, which is quick once its process is gone.
                await in_thread(lambda: self._found.wait(_CLEARING))
        if self._supervisor is not None:
            await self._supervisor.close()
        elif self._spawned is not None:
            await in_thread(self._spawned.discard)

    def served(self, name: str | None) -> ModelInfo:
        """The model that a request names. Raises ModelNotFound, which names what is served."""
        info = self.info
        names = (info.id, *info.aliases)
        if name in (None, "", "default") or name in names:
            return info
        if name is not None and name.casefold() in {n.casefold() for n in names}:
            return info
        raise ModelNotFound(
            f"The model {name!r} is not served here; {info.id!r} is.", param="model"
        )

    async def generate(self, request: Request) -> AsyncGenerator[Event, None]:
        """The events of a request, to `Completed`. Raises EngineError, also between events.

        Closing the generator cancels the request at the worker's next step.
        """
        with ExitStack() as place:
            self._admit()
            place.callback(self._leave)
            worker = await self._worker()
            if self._config.model.tools == "strict":
                request = replace(request, tool_use=replace(request.tool_use, strict=True))
            # The place is free as soon as the worker is done, however slowly the client reads.
            written = worker.generate(request, over=place.close)
            async with aclosing(await self._with_calls(request, written)) as events:
                async for event in events:
                    yield event

    async def _with_calls(
        self, request: Request, events: AsyncGenerator[WorkerEvent, None]
    ) -> AsyncGenerator[Event, None]:
        prompt = request.prompt
        tools = prompt.tools if isinstance(prompt, Chat) else ()
        if not tools:
            return events

        def imported() -> AsyncGenerator[Event, None]:
            from hubserve_engine.output.assemble import with_calls
            from hubserve_engine.tool_formats import FORMATS

            return with_calls(events, FORMATS[self.info.tool_format], tools, request.tool_use)

        # Many servers never see a tool. The first takes 40 ms, in which other streams go on.
        return await in_thread(imported)

    def _admit(self) -> None:
        config = self._config
        if self._closing:
            raise Cancelled("The server is stopping.")
        _ = self.info
        if self._requests >= config.model.parallel + config.max_queue:
            raise Busy(
                f"No more requests can wait (running or waiting: {self._requests});"
                " try again soon, or start the server with a larger --max-queue."
            )
        self._requests += 1
        self._quiet.clear()

    def _leave(self) -> None:
        self._requests -= 1
        if not self._requests:
            self._quiet.set()

    @contextmanager
    def _question(self) -> Iterator[None]:
        """Counts one in. As many may wait as requests: both are prepared one after the other."""
        config = self._config
        if self._closing:
            raise Cancelled("The server is stopping.")
        if self._questions >= config.model.parallel + config.max_queue:
            raise Busy(f"{self._questions} questions wait for their answers; try again soon.")
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1

    async def _worker(self) -> WorkerHandle:
        _ = self.info
        assert self._supervisor is not None
        return await self._supervisor.worker()

    async def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """The tokens of a text. Raises InvalidRequest, or Busy."""
        if len(text) > LONGEST_TEXT:
            raise InvalidRequest(
                f"The text has {len(text)} characters; at most {LONGEST_TEXT} are tokenized at"
                " once, so send it in parts.",
                param="content",
            )
        with self._question():
            worker = await self._worker()
            return await worker.tokenize(text, add_special=add_special, parse_special=parse_special)

    async def pieces(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token, special ones as their texts. Raises InvalidRequest, or Busy."""
        if len(tokens) > MOST_TOKENS:
            raise InvalidRequest(
                f"These are {len(tokens)} tokens; at most {MOST_TOKENS} are made text at once, so"
                " send them in parts.",
                param="tokens",
            )
        with self._question():
            worker = await self._worker()
            return await worker.pieces(tuple(tokens))

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return b"".join(await self.pieces(tokens)).decode("utf-8", "replace")

    async def render(self, chat: Chat) -> Rendered:
        """A chat as the model's template renders it. Raises PromptError, or Busy."""
        with self._question():
            worker = await self._worker()
            return await worker.render(chat)

    async def _load(self) -> ModelInfo:
        config = self._config
        self._stage = "resolving"
        model, choice = await in_thread(self._find)
        self._stage = "loading"
        disk = await in_thread(lambda: settle(config, model.files))
        self._supervisor = Supervisor(order(config, model, choice, disk), self._spawned)
        ready = await self._supervisor.start()
        self._info = loaded_model(config.model, model, choice, disk, ready)
        self._stage = "ready"
        return self._info

    def _find(self) -> tuple[ResolvedModel, Choice]:
        try:
            return find(self._config, self._report, self._tell_share, self._ended)
        finally:
            self._found.set()

    def _tell_share(self, share: float) -> None:
        self._exported = share

    def _report(self, stage: Stage, sentence: str) -> None:
        self._stage, self.progress = stage, sentence
