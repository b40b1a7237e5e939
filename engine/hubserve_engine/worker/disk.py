"""The prefixes on disk as the steps know them: threads write and read them beside the steps."""

from collections import deque
from queue import Empty, SimpleQueue

from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.prefix_store.reader import PrefixReader
from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.prefix_store.writer import PrefixWriter
from hubserve_engine.radix_tree import Tokens, common_length

_WORTH = 256
"""Fewer tokens are as soon read again."""
_GROWN = 8
"""A prefix that is on disk is written again once it has grown by this part."""
_WAIT = 0.02
"""Seconds, after which a request that came may be looked at."""


class Disk:
    """Keeps `cache` told of what is in the store. `cuttable`: a slot filled from it can be cut
    back. For the thread that steps; only `wait` and `flush` wait for the disk, and `take` of what
    is not `ready`."""

    def __init__(self, store: PrefixStore, cache: PrefixCache, *, cuttable: bool) -> None:
        self._store = store
        self._cache = cache
        self._cuttable = cuttable
        self._written: SimpleQueue[Entry] = SimpleQueue()
        self._writer = PrefixWriter(store, self._written.put)
        self._reader = PrefixReader(store)
        self._handed: deque[Tokens] = deque(maxlen=3)  # that may be in the writer's hands
        for entry in store.entries():
            self._add(entry)

    @property
    def full(self) -> bool:
        """Whether what is written now would be refused: ask before copying a state."""
        return self._writer.full

    def wants(self, holding: Holding, length: int) -> bool:
        """Whether so much of its first `length` tokens is not there, nor on its way there, that
        they are to be written."""
        if length < _WORTH:
            return False
        tokens = holding.tokens_held[:length]
        covered = self._cache.covered(tokens, "disk")
        for handed in self._handed:
            if self._cuttable or len(handed) <= length:
                covered = max(covered, common_length(handed, tokens))
        return length - covered >= max(_WORTH, covered // _GROWN)

    def write(self, tokens: Tokens, state: bytes | memoryview) -> None:
        """Hand over a state, which is the writer's from now on."""
        self._handed.append(tokens)
        self._writer.submit(tokens, state, supersede=self._cuttable)

    def take_in(self) -> None:
        """Let the cache know what has been written, and what made room for it."""
        while True:
            try:
                entry = self._written.get_nowait()
            except Empty:
                return
            self._add(entry)
            for holding in list(self._cache.holdings("disk")):
                if not self._store.has(holding.state):
                    self._cache.drop(holding)

    def _add(self, entry: Entry) -> None:
        for holding, common in list(self._cache.sharing(entry.tokens)):
            same = common == len(holding.tokens) == len(entry.tokens)
            shorter = self._cuttable and common == len(holding.tokens)
            if holding.tier == "disk" and (same or shorter):
                self._cache.drop(holding)  # the longer file serves for it, too
        self._cache.add(Holding(entry.tokens, "disk", self._cuttable, state=entry))

    def ready(self, entry: Entry) -> bool:
        """Whether it is read; if not, it soon will be."""
        return self._reader.ready(entry)

    def take(self, entry: Entry) -> memoryview | None:
        """The state; None if its file is gone or damaged."""
        return self._reader.take(entry)

    def forget(self) -> None:
        """Nobody waits for what was read."""
        self._reader.forget()

    def wait(self) -> None:
        """For the writer, a moment at most."""
        self._writer.flush(_WAIT)

    def flush(self, seconds: float) -> None:
        """Let what was handed over be written."""
        self._writer.flush(seconds)
