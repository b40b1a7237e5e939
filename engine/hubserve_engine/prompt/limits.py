"""Runs code that strangers wrote, such as a template, for a limited time."""

import ctypes
import faulthandler
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_AGAIN = 0.5  # seconds between attempts to stop code that outlived its limit
_GRACE = 3.0  # seconds after which code that cannot be stopped ends the process


class TooSlow(Exception):
    """The code ran longer than it may."""


class _Stop(BaseException):
    """Raised inside the running code. No `except Exception` on its way can swallow it."""


def run_limited(work: Callable[[], T], seconds: float, *, may_exit: bool = False) -> T:
    """The result of `work`; `TooSlow` if that takes more than `seconds`.

    A second thread raises an exception into this one, between two bytecodes; so it works in any
    thread, but not during one long call into C. For that case `may_exit` lets the process end
    (status 1) a few seconds later: it is for a worker that its parent starts again, and it is the
    one thing that helps when such a call holds the interpreter's lock.
    """
    watch = _Watch(seconds)
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
        raise TooSlow from None


class _Watch:
    """A context that is ended by `_Stop` when its time is up."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
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
        pause = self._seconds
        while not self._over.wait(pause):
            with self._lock:
                if not self._over.is_set():
                    # Again and again: one that is raised inside a destructor is lost.
                    self._send()
            pause = _AGAIN
