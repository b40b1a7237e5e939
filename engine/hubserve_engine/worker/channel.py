"""The worker's end of the socket: frames in, and out by a thread of its own, so no one waits."""

import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue

from hubserve_engine.worker.protocol import (
    FrameBuffer,
    FromWorker,
    PieceList,
    Text,
    Tokens,
    encode,
)

_READ = 1 << 18
_MOST_UNSENT = 64 << 20

Answer = Tokens | PieceList | Text


class Channel:
    """`send` may be called from any thread. A server that takes nothing for long ends the worker:
    `send` raises BrokenPipeError where 64 MiB are waiting already, or the socket is gone."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._queue: SimpleQueue[tuple[bytes, bool] | None] = SimpleQueue()
        self._unsent = 0
        self._lock = threading.Lock()
        self._no_answer_waits = threading.Semaphore()
        self._broken = False
        self._writer = threading.Thread(target=self._write, name="writer", daemon=True)
        self._writer.start()

    def send(self, message: FromWorker) -> None:
        frame = encode(message)
        with self._lock:
            if self._broken or self._unsent > _MOST_UNSENT:
                raise BrokenPipeError("the server takes no messages")
            self._unsent += len(frame)
        self._queue.put((frame, False))

    def answer(self, message: Answer) -> None:
        """Send what may be large, as soon as the answer before it is written: for a thread that
        may wait. Answers do not count as messages that the server leaves waiting.

        Raises TooLong, or BrokenPipeError.
        """
        frame = encode(message)
        self._no_answer_waits.acquire()
        if self._broken:
            self._no_answer_waits.release()
            raise BrokenPipeError("the server is gone")
        self._queue.put((frame, True))

    def _write(self) -> None:
        while (entry := self._queue.get()) is not None:
            frame, is_answer = entry
            try:
                self._socket.sendall(frame)
            except OSError:
                self._broken = True
            if is_answer:
                self._no_answer_waits.release()
            else:
                with self._lock:
                    self._unsent -= len(frame)

    def receive(self) -> Iterator[bytes]:
        """Message bodies until the server closes its end."""
        frames = FrameBuffer()
        while True:
            try:
                data = self._socket.recv(_READ)
            except OSError:
                return
            if not data:
                return
            yield from frames.feed(data)

    def flush(self, seconds: float) -> None:
        """Wait for what was sent to be written."""
        self._queue.put(None)
        self._writer.join(seconds)
