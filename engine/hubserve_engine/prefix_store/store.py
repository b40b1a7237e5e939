"""The prefixes of one model under one set of settings: which are on disk, and their states."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hubserve_engine.prefix_store import file
from hubserve_engine.prefix_store.folder import Folder
from hubserve_engine.radix_tree import Tokens

logger = logging.getLogger(__name__)

_PORTION = 1 << 20
Rest = Callable[[float], object]
"""Called after a portion of a state, which took so many seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A prefix on disk: `tokens` is read-only; `size` is that of its state in bytes."""

    name: str
    tokens: Tokens
    size: int


class PrefixStore:
    """May be used from any thread, beside other processes, and while it is cleared.

    An entry that another process evicts is gone without a word: `load` is None then.
    """

    def __init__(self, cache: Path, key: str, limit: int) -> None:
        """`key` names all that must be equal for a state to be right: the weights, and the
        backend's `state_key`. `limit` is in bytes, for the files of all keys together.

        Raises CacheUnusable.
        """
        self._folder = Folder(cache)
        self._folder.open()
        self._key = _digest(key.encode())
        self._limit = limit
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._complained = False

    def entries(self) -> list[Entry]:
        """What is there now. Of files that were not seen before the heads are read; what is damaged
        is removed."""
        try:
            names = self._folder.names(f"{self._key.hex()}-")
        except OSError as error:
            self._complain("read", error)
            return []
        with self._lock:
            self._entries = {n: e for n in names if (e := self._entries.get(n) or self._read(n))}
            return list(self._entries.values())

    def _read(self, name: str) -> Entry | None:
        try:
            header = file.read_header(self._folder.path / name, self._key)
        except OSError:
            return None
        if header is None or name != self._name(header.tokens):
            self._folder.remove(name)
            return None
        return Entry(name, header.tokens, header.length)

    def load(self, entry: Entry) -> memoryview | None:
        """The entry's state, which counts as a use; it takes about a second for a GB.

        None: it is gone, or is damaged and was removed.
        """
        try:
            state = file.read_state(self._folder.path / entry.name, self._key, entry.tokens)
        except (OSError, ValueError):
            with self._lock:
                self._entries.pop(entry.name, None)
            return None
        if state is None:
            self.remove(entry)
        else:
            self.touch(entry)
        return state

    def touch(self, entry: Entry) -> None:
        """Note a use: what was not used for longest is evicted first."""
        self._folder.touch(entry.name)

    def remove(self, entry: Entry) -> None:
        with self._lock:
            self._entries.pop(entry.name, None)
        self._folder.remove(entry.name)

    def save(
        self,
        tokens: Sequence[int] | Tokens,
        state: bytes | memoryview,
        *,
        supersede: bool = False,
        rest: Rest = lambda _seconds: None,
    ) -> Entry | None:
        """Write a state, evicting what was not used for longest; it blocks, for as long as that is,
        and as the rests are that it takes.

        With `supersede` entries whose tokens are the beginning of these are removed. None: it is
        larger than the limit, or it cannot be written, which is logged once. What is there already
        is not written again.
        """
        listed = np.array(tokens, np.int32)
        entry = Entry(self._name(listed), listed, len(state))
        size = file.size_of(len(listed), len(state))
        shorter = self._beginnings(listed) if supersede else []
        try:
            if (there := self._read(entry.name)) is not None:
                entry = there
                self.touch(entry)
            elif (
                not state
                or size > self._limit
                or not self._write(entry, memoryview(state).cast("B"), size, shorter, rest)
            ):
                return None
            else:
                self._forget_evicted()
        except FileNotFoundError:
            return None  # it was cleared meanwhile
        except OSError as error:
            self._complain("written", error)
            return None
        entry.tokens.setflags(write=False)
        with self._lock:
            self._entries[entry.name] = entry
        for other in shorter:
            self.remove(other)
        return entry

    def has(self, entry: Entry) -> bool:
        """Whether its file was there when one was written last."""
        with self._lock:
            return entry.name in self._entries

    def _forget_evicted(self) -> None:
        names = set(self._folder.names(f"{self._key.hex()}-"))
        with self._lock:
            self._entries = {n: e for n, e in self._entries.items() if n in names}

    def _write(
        self, entry: Entry, state: memoryview, size: int, shorter: list[Entry], rest: Rest
    ) -> bool:
        expendable = {each.name for each in shorter}
        with self._folder.writing(entry.name, size, self._limit, expendable) as descriptor:
            if descriptor is None:
                return False
            head = file.head(self._key, entry.tokens, _portions(state, rest))
            _put(descriptor, memoryview(head))
            for portion in _portions(state, rest):
                _put(descriptor, portion)
        return True

    def _beginnings(self, tokens: Tokens) -> list[Entry]:
        with self._lock:
            entries = list(self._entries.values())
        return [
            entry
            for entry in entries
            if len(entry.tokens) < len(tokens)
            and np.array_equal(entry.tokens, tokens[: len(entry.tokens)])
        ]

    def _name(self, tokens: Tokens) -> str:
        return f"{self._key.hex()}-{_digest(tokens.astype('<i4').tobytes()).hex()}.prefix"

    def _complain(self, what: str, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            logger.warning(
                "Prefixes cannot be %s in %r (%s); the server goes on without.",
                what,
                str(self._folder.path),
                error.strerror or error,
            )


def _portions(state: memoryview, rest: Rest) -> Iterator[memoryview]:
    for start in range(0, len(state), _PORTION):
        began = time.perf_counter()
        yield state[start : start + _PORTION]
        rest(time.perf_counter() - began)


def _put(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=file.DIGEST).digest()
