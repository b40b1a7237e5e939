"""Copies of states out of their slots, and how long they hold up the steps."""

import time

from hubserve_engine.backends.base import Backend
from hubserve_engine.hardware import detect
from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.worker.part_copy import PartCopy

_RATE = 3e8
"""Bytes a second that are copied into memory that was never touched, as the first one is."""
_PART = 0.25
"""So much of the longest pause a part may take, as steps go on to read prompts between parts."""
_LEAST_PART = 64
"""Tokens."""
_LARGE = 1 << 28


class Copier:
    """For the thread that owns the backend. A running stream may pause for `max_gap` seconds.
    `copied` is set by every copy that is made."""

    def __init__(self, backend: Backend, cache: PrefixCache, *, max_gap: float) -> None:
        self._backend = backend
        self._cache = cache
        self._max_gap = max_gap
        self._restorable = backend.capabilities.restore_truncates
        self._rate = _RATE
        self.copied = False

    def length(self, holding: Holding) -> int:
        """How much of it is worth a copy: all, or as much as a prompt can have in common with it,
        where a copy serves only whole."""
        if self._restorable or holding.slot is None:
            return holding.length
        return max(holding.marks, default=0)

    def needs_slot(self, holding: Holding) -> bool:
        """Whether it has to be copied to an empty slot first, and cut there."""
        return self.length(holding) < holding.length

    def holds_up(self, holding: Holding) -> bool:
        """Whether to copy it takes too long for a running stream."""
        if holding.slot is None:
            return False  # it is a copy
        return self._backend.state_size(holding.slot) / self._rate > self._max_gap / 2

    def copy(self, holding: Holding) -> bytes | None:
        """What is worth a copy of what lies in a slot, which stays as it is. None: there is no slot
        or no memory for that."""
        assert holding.slot is not None
        if not self.needs_slot(holding):
            return self.save(holding.slot)
        taken = self._cache.take_slot() if self._cache.has_empty else None
        if taken is None:
            return None
        other, _ = taken
        length = self.length(holding)
        try:
            forked = self._backend.fork(holding.slot, other)
            return self.save(other) if forked and self._backend.truncate(other, length) else None
        finally:
            self._backend.remove(other)
            self._cache.return_slot(other)

    def save(self, slot: int) -> bytes | None:
        """All that a slot holds. None: there is no memory for it."""
        if not self._fits(self._backend.state_size(slot)):
            return None
        began = time.perf_counter()
        try:
            view = self._backend.save(slot)
            state = bytes(view) if view is not None else None
        except MemoryError:
            return None
        self._learn(len(state or b""), time.perf_counter() - began)
        return state

    def in_parts(self, holding: Holding) -> PartCopy | None:
        """A copy to be made with `add_part`. None: there is no memory for it."""
        assert holding.slot is not None
        fits = self._fits(self._backend.state_size(holding.slot))
        return PartCopy(self._backend, holding) if fits else None

    def add_part(self, parts: PartCopy) -> bool:
        """Copy as much as a stream may have to wait for. False: that is not possible."""
        holding = parts.holding
        assert holding.slot is not None
        share = self._rate * self._max_gap * _PART / self._backend.state_size(holding.slot)
        before, began = len(parts.state), time.perf_counter()
        added = parts.add(max(int(share * holding.length), _LEAST_PART))
        self._learn(len(parts.state) - before, time.perf_counter() - began)
        return added

    def _fits(self, size: int) -> bool:
        """Whether there seems to be memory for a copy. It is there twice for a moment, and the
        system ends who takes too much."""
        return size <= _LARGE or 3 * size <= detect().memory_free

    def _learn(self, size: int, seconds: float) -> None:
        if size:
            self._rate = (self._rate + size / seconds) / 2
        self.copied = True
