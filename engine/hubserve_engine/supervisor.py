"""Keeps one worker alive: starts it, starts it again when it dies, gives up when that is no use."""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from functools import partial

from hubserve_engine.errors import Cancelled, EngineError, LoadError, Unavailable
from hubserve_engine.worker.handle import WorkerHandle
from hubserve_engine.worker.protocol import Load, Ready
from hubserve_engine.worker.spawn import Spawned

logger = logging.getLogger(__name__)

_DEATHS = 3
_WITHIN = 60.0  # seconds


class Supervisor:
    """`worker` waits for one that is ready. Three deaths within a minute are the last.

    The first worker is the process that has been `spawned`, if one has. `loaded` is how much of the
    model the latest worker has loaded, from 0 to 1; `restarts` how many workers there were after
    the first.
    """

    def __init__(self, load: Load, spawned: Spawned | None = None) -> None:
        self._load = load
        self._spawned = spawned
        self.loaded = 0.0
        self.restarts = 0
        self._deaths: deque[float] = deque(maxlen=_DEATHS)
        self._handle: WorkerHandle | None = None
        self._ready = asyncio.Event()
        self._failure: EngineError | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> Ready:
        """Load the model for the first time. Raises LoadError."""
        self._handle = await self._begin()
        try:
            ready = await self._handle.ready()
        except LoadError:
            raise
        except EngineError as error:
            raise LoadError(
                "The process that loads the model ended before it was ready; most likely there is"
                " too little memory: try a smaller --ctx-size or a smaller file."
            ) from error
        self._ready.set()
        self._task = asyncio.create_task(self._watch())
        return ready

    @property
    def available(self) -> bool:
        """False once it has given up."""
        return not isinstance(self._failure, Unavailable)

    @property
    def ready(self) -> bool:
        """Whether there is a worker that takes requests."""
        return self._ready.is_set() and self._handle is not None and self._handle.alive

    async def worker(self) -> WorkerHandle:
        """The worker, once it is ready. Raises Unavailable, or Cancelled after `close`."""
        if self._handle is not None and not self._handle.alive:
            self._ready.clear()  # the watching task is about to see it, too
        if self._failure is None:
            await self._ready.wait()
        if self._failure is not None:
            raise self._failure
        assert self._handle is not None
        return self._handle

    async def _watch(self) -> None:
        while self._handle is not None:
            await self._handle.ended.wait()
            self._ready.clear()
            self._deaths.append(time.monotonic())
            if len(self._deaths) == _DEATHS and self._deaths[-1] - self._deaths[0] < _WITHIN:
                self._give_up(
                    f"The model's process ended {_DEATHS} times within a minute and is not started"
                    " again; see the server's log, and restart the server."
                )
                return
            logger.warning("The model's process ended; it is being started again.")
            try:
                self.restarts += 1
                self._handle = await self._begin()
                await self._handle.ready()
            except LoadError as error:
                self._give_up(f"The model could not be loaded again: {error.message}")
                return
            except EngineError:
                continue  # it died while loading: that counts
            except OSError as error:
                self._give_up(f"The model's process could not be started again: {error}.")
                return
            self._ready.set()

    async def _begin(self) -> WorkerHandle:
        self.loaded = 0.0
        spawned, self._spawned = self._spawned, None
        return await WorkerHandle.start(self._load, partial(setattr, self, "loaded"), spawned)

    def _give_up(self, reason: str) -> None:
        logger.error(reason)
        self._fail(Unavailable(reason))

    def _fail(self, failure: EngineError) -> None:
        self._failure = failure
        self._ready.set()

    async def close(self) -> None:
        """End the worker; whoever waits for one is answered with Cancelled."""
        self._fail(self._failure or Cancelled("The server is stopping."))
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._handle is not None:
            await self._handle.close()
