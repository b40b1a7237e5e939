"""Writes prefixes beside the steps, so that nothing that runs waits for the disk."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.radix_tree import Tokens

_WAITING = 2
_NICER = 10
_REST = 4
"""So many times as long as a portion took, the thread rests after it."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    tokens: Tokens
    state: bytes | memoryview
    supersede: bool


class PrefixWriter:
    """A thread that saves what it is given, in that order. `saved` is called on that thread.

    The threads of a step wait for each other, and one that shares its core with a checksum makes
    that step several times as long. So this one has a tenth of a core that others want, and rests
    again and again: with 138 MB beside steps of 30 ms the longest took 38 ms, else 130.
    """

    def __init__(self, store: PrefixStore, saved: Callable[[Entry], None]) -> None:
        self._store = store
        self._saved = saved
        self._waiting: list[_Prefix] = []
        self._writing = False
        self._changed = threading.Condition()
        self._hurried = threading.Event()
        threading.Thread(target=self._run, name="prefix writer", daemon=True).start()

    def submit(self, tokens: Tokens, state: bytes | memoryview, *, supersede: bool = False) -> bool:
        """Hand over a state that is the writer's from now on; see `PrefixStore.save`.

        States are large, so only two may wait. False: there are two, and none that this one
        supersedes.
        """
        prefix = _Prefix(tokens, state, supersede)
        with self._changed:
            left = [each for each in self._waiting if not _supersedes(prefix, each)]
            if len(left) >= _WAITING:
                return False
            self._waiting = [*left, prefix]
            self._changed.notify_all()
        return True

    @property
    def full(self) -> bool:
        """Whether a state that supersedes none would be refused: ask before copying one."""
        return len(self._waiting) >= _WAITING

    def flush(self, seconds: float) -> bool:
        """Wait until all is written, but no longer than this; whether all is."""
        self._hurried.set()
        with self._changed:
            done = self._changed.wait_for(lambda: not (self._waiting or self._writing), seconds)
        self._hurried.clear()
        return done

    def _run(self) -> None:
        _give_way()
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                while not self._waiting:
                    self._changed.wait()
                prefix = self._waiting.pop(0)
                self._writing = True
            entry = self._store.save(
                prefix.tokens, prefix.state, supersede=prefix.supersede, rest=self._rest
            )
            if entry is not None:
                self._saved(entry)
            del prefix  # or it would be held until the next one comes

    def _rest(self, seconds: float) -> None:
        self._hurried.wait(_REST * seconds)


def _give_way() -> None:
    if sys.platform == "linux":  # elsewhere a thread cannot be told from a process
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, 0) + _NICER)


def _supersedes(new: _Prefix, old: _Prefix) -> bool:
    length = len(old.tokens)
    return new.supersede and np.array_equal(new.tokens[:length], old.tokens)
