"""The server's end of one worker process: starts it, asks it, hands its answers on.

A handle lives as long as its process. When that ends, everything that was asked of it is answered
with WorkerDied. Who starts the next one is the supervisor's affair.
"""

import asyncio
import logging
import subprocess
from collections.abc import AsyncGenerator, Callable
from itertools import count

from hubserve_engine.errors import Cancelled, EngineError, InvalidRequest, WorkerDied
from hubserve_engine.threads import in_thread
from hubserve_engine.types import Chat, Completed, Rendered, Request, WorkerEvent
from hubserve_engine.worker import protocol
from hubserve_engine.worker.failures import error_of
from hubserve_engine.worker.protocol import (
    Answer,
    FrameBuffer,
    FromWorker,
    TooLong,
    ToWorker,
    encode,
)
from hubserve_engine.worker.spawn import Spawned, spawn

logger = logging.getLogger(__name__)

_READ = 1 << 18
_LEAVING_SECONDS = 10.0
_MOST_UNREAD = 8192
"""Events that a client may leave unread before its request is cancelled."""


class _Stream(asyncio.Queue[WorkerEvent | EngineError]):
    """The events of a request that its reader has not taken yet.

    `over` is called when the last has come, which may be long before it is read.
    """

    def __init__(self, over: Callable[[], None]) -> None:
        super().__init__()
        self._over = over

    def add(self, event: WorkerEvent | EngineError) -> None:
        self.put_nowait(event)
        if isinstance(event, Completed | EngineError):
            self._over()


class WorkerHandle:
    """One process. Use it on the event loop that started it."""

    def __init__(self, process: subprocess.Popen[bytes], writer: asyncio.StreamWriter) -> None:
        self._process = process
        self._exit = asyncio.create_task(in_thread(process.wait))
        self._writer = writer
        self._ids = count(1)
        self._streams: dict[int, _Stream] = {}
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._ready: asyncio.Future[protocol.Ready] = asyncio.get_running_loop().create_future()
        self._death: EngineError | None = None
        self.ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        load: protocol.Load,
        progress: Callable[[float], None] = lambda _done: None,
        spawned: Spawned | None = None,
    ) -> "WorkerHandle":
        """A running process that is loading: a new one, if none has been `spawned`."""
        spawned = spawned or spawn(load.backend)
        try:
            reader, writer = await asyncio.open_connection(sock=spawned.socket)
        except BaseException:
            spawned.discard()
            raise
        handle = cls(spawned.process, writer)
        handle._task = asyncio.create_task(handle._receive(reader, progress))
        handle._send(load)
        return handle

    @property
    def alive(self) -> bool:
        """Whether it takes requests, as far as is known."""
        return self._death is None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self) -> protocol.Ready:
        """What it loaded. Raises LoadError, or WorkerDied."""
        return await asyncio.shield(self._ready)

    async def generate(
        self, request: Request, *, over: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[WorkerEvent, None]:
        """The events of a request. Closing the generator cancels it at the worker's next step.

        `over` is called when the worker is done with it, whether or not the events are read yet.
        """
        id = next(self._ids)
        stream = self._streams[id] = _Stream(over)
        ended = False
        try:
            self._send(protocol.Generate(id, request))
            while not ended:
                event = await stream.get()
                ended = isinstance(event, Completed | EngineError)
                if isinstance(event, EngineError):
                    raise event
                yield event
        finally:
            del self._streams[id]
            if not ended and self._death is None:
                self._send(protocol.Cancel(id))

    async def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        id = next(self._ids)
        answer = await self._ask(id, protocol.Tokenize(id, text, add_special, parse_special))
        assert isinstance(answer, protocol.Tokens)
        return answer.tokens

    async def pieces(self, tokens: tuple[int, ...]) -> list[bytes]:
        id = next(self._ids)
        answer = await self._ask(id, protocol.Pieces(id, tokens))
        assert isinstance(answer, protocol.PieceList)
        return answer.pieces

    async def render(self, chat: Chat) -> Rendered:
        id = next(self._ids)
        answer = await self._ask(id, protocol.Render(id, chat))
        assert isinstance(answer, protocol.Text)
        return answer.rendered

    async def _ask(self, id: int, question: ToWorker) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[id] = future
        try:
            self._send(question)
            return await future
        except asyncio.CancelledError:
            if self._death is None:
                self._send(protocol.Cancel(id))
            raise
        finally:
            del self._answers[id]

    def _send(self, message: ToWorker) -> None:
        if self._death is not None:
            raise self._death
        try:
            frame = encode(message)
        except TooLong as error:
            raise InvalidRequest(f"The request is too long: {error}. Send less.") from error
        except (OverflowError, RecursionError, UnicodeError) as error:
            raise InvalidRequest(
                f"The request holds a value of no use to a model: {error}."
            ) from error
        self._writer.write(frame)

    async def _receive(
        self, reader: asyncio.StreamReader, progress: Callable[[float], None]
    ) -> None:
        """Hands on what comes, until the process ends; one that talks nonsense is ended."""
        frames = FrameBuffer()
        try:
            while data := await reader.read(_READ):
                for body in frames.feed(data):
                    self._take(protocol.decode_from_worker(body), progress)
        except OSError:
            pass  # a process that dies may reset the connection
        except Exception:
            logger.exception("The model's process is ended, since its messages make no sense.")
            self._process.kill()
        await self._end()

    def _take(self, message: FromWorker, progress: Callable[[float], None]) -> None:
        match message:
            case protocol.Step(items=items):
                for item in items:
                    self._deliver(item)
            case protocol.Progress(done=done):
                progress(done)
            case protocol.Ready():
                self._ready.set_result(message)
            case protocol.Failed(id=None):
                self._ready.set_exception(error_of(message))
            case protocol.Failed(id=int(id)):
                if (stream := self._streams.get(id)) is not None:
                    stream.add(error_of(message))
                elif (future := self._answers.get(id)) is not None and not future.done():
                    future.set_exception(error_of(message))
            case protocol.Tokens() | protocol.PieceList() | protocol.Text():
                if (future := self._answers.get(message.id)) is not None and not future.done():
                    future.set_result(message)

    def _deliver(self, item: protocol.Item) -> None:
        stream = self._streams.get(item.id)
        if stream is None:
            return
        if stream.qsize() == _MOST_UNREAD:
            stream.add(Cancelled("The client did not read its answer for too long."))
            if self.alive:
                self._send(protocol.Cancel(item.id))
        elif stream.qsize() < _MOST_UNREAD:
            stream.add(item.event)

    async def _end(self) -> None:
        """The process is gone or going: answer everything that it was asked."""
        code = await self._exit_code(_LEAVING_SECONDS)
        death = self._death or WorkerDied(
            f"The model's process ended ({_how(code)}) while it held this request;"
            " it is being started again, so send the request again."
        )
        self._death = death
        self._writer.close()
        if not self._ready.done():
            self._ready.set_exception(death)
        self._ready.exception()  # whoever waits for it gets it; nobody has to
        for stream in self._streams.values():
            stream.add(death)
        for future in self._answers.values():
            if not future.done():
                future.set_exception(death)
        self.ended.set()

    async def close(self, seconds: float = 2.0) -> None:
        """End the process: by closing the socket, and by force if that does not help in time, or
        at once while it loads and would not notice.

        What it still holds is answered with Cancelled.
        """
        self._death = self._death or Cancelled("The server is stopping.")
        self._writer.close()
        await self._exit_code(seconds if self._ready.done() else 0)
        await self.ended.wait()

    async def _exit_code(self, seconds: float) -> int:
        """Of the process, which is killed if it is still there after that time."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._exit), seconds)
        except TimeoutError:
            self._process.kill()
            return await asyncio.shield(self._exit)


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
