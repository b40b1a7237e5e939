"""Runs code that strangers wrote, such as a template, for a limited time and in limited memory."""

import ctypes
import faulthandler
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_LOOK = 0.01  # seconds between looks at how far the code has come
_AGAIN = 0.5  # seconds between attempts to stop code that outlived its limit
_GRACE = 3.0  # seconds after which code that cannot be stopped ends the process
_MEMORY = 512 * 2**20
_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class OverLimit(Exception):
    """The code was stopped."""


class TooSlow(OverLimit):
    """It ran longer than it may."""


class TooHeavy(OverLimit):
    """It took more memory than it may."""


class Abandoned(OverLimit):
    """Nobody wants its result any more."""


def wanted() -> bool:
    """For code whose result somebody waits for until it ends."""
    return True


class _Stop(BaseException):
    """Raised inside the running code. No `except Exception` on its way can swallow it."""


def run_limited(
    work: Callable[[], T],
    seconds: float,
    *,
    may_exit: bool = False,
    wanted: Callable[[], bool] = wanted,
) -> T:
    """The result of `work`. Raises `TooSlow` if that takes more than `seconds`, `TooHeavy` if the
    process grows by 512 MiB meanwhile (where Linux tells), `Abandoned` once it is not `wanted`.

    A second thread raises an exception into this one, between two bytecodes; so it works in any
    thread, but not during one long call into C. For that case `may_exit` lets the process end
    (status 1) a few seconds later: it is for a worker that its parent starts again, and it is the
    one thing that helps when such a call holds the interpreter's lock.
    """
    watch = _Watch(seconds, wanted)
    if may_exit:
        # A thread in C which needs no lock of the interpreter. The dump itself is of no use here.
        with Path(os.devnull).open("w") as nowhere:
            faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=nowhere)
            try:
                return _run(work, watch)
            finally:
                faulthandler.cancel_dump_traceback_later()
    return _run(work, watch)


def _run(work: Callable[[], T], watch: "_Watch") -> T:
    try:
        with watch:
            return work()
    except _Stop:
        # It may have come while `watch` was being left, so leave it for certain.
        watch.end()
        raise watch.verdict from None


class _Watch:
    """A context that is ended by `_Stop`; then `verdict` says why."""

    def __init__(self, seconds: float, wanted: Callable[[], bool]) -> None:
        self.verdict: OverLimit = TooSlow()
        self._wanted = wanted
        self._end = time.monotonic() + seconds
        self._most = _memory() + _MEMORY
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._target = ctypes.c_ulong(threading.get_ident())
        self._sent = False

    def __enter__(self) -> None:
        threading.Thread(target=self._wait, name="time-limit", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """No `_Stop` comes after this, not even one that is already on its way."""
        ended = False
        while not ended:
            try:
                with self._lock:
                    self._over.set()
                ended = True  # none is sent from here on
                if self._sent:
                    # Replaces one that is on its way, and is awaited. Taking it back instead would
                    # leave CPython 3.11 looking for it for ever: calls get slower, and the first
                    # tracing function hangs.
                    self._send()
                    while True:
                        pass
            except _Stop:
                pass

    def _send(self) -> None:
        self._sent = True
        ctypes.pythonapi.PyThreadState_SetAsyncExc(self._target, ctypes.py_object(_Stop))

    def _wait(self) -> None:
        while self._may_go_on():
            if self._over.wait(min(_LOOK, max(0.0, self._end - time.monotonic()))):
                return
        while True:
            with self._lock:
                if self._over.is_set():
                    return
                # Again and again: one that is raised inside a destructor is lost.
                self._send()
            if self._over.wait(_AGAIN):
                return

    def _may_go_on(self) -> bool:
        if not self._wanted():
            self.verdict = Abandoned()
        elif _memory() > self._most:
            self.verdict = TooHeavy()
        else:
            return time.monotonic() < self._end
        return False


def _memory() -> int:
    """Bytes of this process that no file holds, so without the weights; 0 where nothing says."""
    try:
        _, resident, shared, *_ = _STATM.read_bytes().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE
