"""Worker processes over scripted models, for tests of both ends of the socket."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.process import SAFETY

from hubserve_engine.backends.base import BackendConfig
from hubserve_engine.types import Completed, Delta, Event, Request, Sampling
from hubserve_engine.worker import protocol
from hubserve_engine.worker.handle import WorkerHandle


def order(
    file: Path, *, slots: int = 4, context: int = 4096, template: str | None = None
) -> protocol.Load:
    """The first message to a worker."""
    return protocol.Load(
        backend="scripted",
        config=BackendConfig((str(file),), context_length=context, parallel=slots),
        sampling=Sampling(),
        chat_template=template,
        reasoning="auto",
        reasoning_budget=-1,
        reasoning_format="auto",
        max_gap=0.2,
        kept=context,
    )


async def collect(handle: WorkerHandle, request: Request) -> list[Event]:
    return [event async for event in handle.generate(request)]


def text(events: list[Event], index: int = 0) -> str:
    assert isinstance(events[-1], Completed)
    return "".join(e.text for e in events if isinstance(e, Delta) and e.index == index)


class RawWorker:
    """The process itself, with nobody between it and the test. `patch` is run in it first."""

    def __init__(self, load: protocol.Load | None, patch: str = "") -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(SAFETY)
        main = "from hubserve_engine.worker.process import main; main(int(sys.argv[1]))"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import sys\n{patch}\n{main}", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        self._frames = protocol.FrameBuffer()
        self._received: list[protocol.FromWorker] = []
        if load is not None:
            self.send(load)

    def __enter__(self) -> "RawWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.process.kill()
        self.process.communicate()

    def send(self, message: protocol.ToWorker) -> None:
        self._socket.sendall(protocol.encode(message))

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> protocol.FromWorker:
        """The next message. Raises EOFError when the worker is gone."""
        while not self._received:
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._received += map(protocol.decode_from_worker, self._frames.feed(data))
        return self._received.pop(0)

    def until(self, wanted: Callable[[protocol.FromWorker], bool]) -> protocol.FromWorker:
        while not wanted(message := self.receive()):
            pass
        return message

    def answer(self, id: int) -> protocol.FromWorker:
        """The next answer or failure with this number."""
        return self.until(lambda m: getattr(m, "id", None) == id)

    def events(self, id: int) -> list[Event]:
        """All events of a request, to its end."""
        found: list[Event] = []
        while not found or not isinstance(found[-1], Completed):
            message = self.receive()
            assert isinstance(message, protocol.Step), message
            found += [item.event for item in message.items if item.id == id]
        return found

    def close(self) -> None:
        self._socket.close()

    def end(self) -> tuple[int, str]:
        """Its exit code and what it wrote to the terminal."""
        _, written = self.process.communicate(timeout=SAFETY)
        return self.process.returncode, written


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended; a zombie has."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
