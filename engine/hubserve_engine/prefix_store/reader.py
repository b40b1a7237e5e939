"""Reads prefixes beside the steps, so that no running stream waits for the disk."""

from concurrent.futures import Future, ThreadPoolExecutor

from hubserve_engine.prefix_store.store import Entry, PrefixStore


class PrefixReader:
    """A thread that reads one state at a time. To be used from one thread."""

    def __init__(self, store: PrefixStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "prefix reader")
        self._entry: Entry | None = None
        self._state: Future[memoryview | None] = Future()

    def ready(self, entry: Entry) -> bool:
        """Whether `take` has no need to wait. If not, its state is read next, unless another is
        being read."""
        if self._entry is None or (self._entry is not entry and self._state.done()):
            self._entry = entry
            self._state = self._thread.submit(self._store.load, entry)
        return self._entry is entry and self._state.done()

    def take(self, entry: Entry) -> memoryview | None:
        """See `PrefixStore.load`; it waits if it must."""
        if self._entry is not entry:
            return self._store.load(entry)
        state = self._state
        self.forget()
        return state.result()

    def forget(self) -> None:
        """Nobody wants what was read."""
        self._entry = None
        self._state = Future()
