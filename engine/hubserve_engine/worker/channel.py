"""The worker's end of the socket: frames in, and out without anyone waiting for the server.

A frame that the socket takes at once is written by whoever sends it: to wake a thread for it would
take a core from the model's threads, with every token. What it does not take, a thread writes.
"""

import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue

from hubserve_engine.worker.protocol import Answer, FrameBuffer, FromWorker, encode

_READ = 1 << 18
_MOST_UNSENT = 64 << 20


class Channel:
    """`send` may be called from any thread. A server that takes nothing for long ends the worker:
    `send` raises BrokenPipeError where 64 MiB are waiting already, or the socket is gone."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._queue: SimpleQueue[tuple[memoryview, bool] | None] = SimpleQueue()
        self._queued = 0
        self._unsent = 0
        self._lock = threading.Lock()
        self._no_answer_waits = threading.Semaphore()
        self._broken = False
        self._writer = threading.Thread(target=self._write, name="writer", daemon=True)
        self._writer.start()

    def send(self, message: FromWorker) -> None:
        frame = memoryview(encode(message))
        with self._lock:
            if self._broken or self._unsent > _MOST_UNSENT:
                raise BrokenPipeError("the server takes no messages")
            if not self._queued:
                frame = frame[self._send_now(frame) :]
            if frame:
                self._unsent += len(frame)
                self._put(frame, is_answer=False)

    def _send_now(self, frame: memoryview) -> int:
        """How many bytes of it the socket took."""
        try:
            return self._socket.send(frame, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._broken = True
            raise BrokenPipeError("the server is gone") from error

    def _put(self, frame: memoryview, *, is_answer: bool) -> None:
        self._queued += 1
        self._queue.put((frame, is_answer))

    def answer(self, message: Answer) -> None:
        """Send what may be large, as soon as the answer before it is written: for a thread that
        may wait. Answers do not count as messages that the server leaves waiting.

        Raises TooLong, or BrokenPipeError.
        """
        frame = memoryview(encode(message))
        self._no_answer_waits.acquire()
        if self._broken:
            self._no_answer_waits.release()
            raise BrokenPipeError("the server is gone")
        with self._lock:
            self._put(frame, is_answer=True)

    def _write(self) -> None:
        while (entry := self._queue.get()) is not None:
            frame, is_answer = entry
            try:
                self._socket.sendall(frame)
            except OSError:
                self._broken = True
            with self._lock:
                self._queued -= 1
                if not is_answer:
                    self._unsent -= len(frame)
            if is_answer:
                self._no_answer_waits.release()

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
