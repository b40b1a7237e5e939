"""What becomes of states beyond their slots: copies in host memory, and on disk.

A state that loses its slot is copied to memory if reading it again would take long. A long prompt
goes to the disk as soon as it is read, so that it outlives this process however that ends; and what
was written after it when there is nothing else to do. To copy a state holds up the steps, so beside
a running stream only those are copied at once that take less than half of the pause that it may
have; others are copied in parts, where that is possible, or later.
"""

import time
from collections import deque
from collections.abc import Callable

from hubserve_engine.backends.base import Backend
from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.radix_tree import Tokens
from hubserve_engine.sequence import Sequence
from hubserve_engine.worker.copier import Copier
from hubserve_engine.worker.disk import Disk
from hubserve_engine.worker.host_memory import HostMemory
from hubserve_engine.worker.part_copy import PartCopy

_WORTH = 64
"""Fewer tokens are as soon read again."""


class Keeper:
    """For the thread that owns the backend. So many tokens may be `kept` in slots beside running
    sequences; `memory` is for copies, in bytes; without a `store` nothing goes to the disk.
    `max_gap` is in seconds."""

    def __init__(
        self,
        backend: Backend,
        *,
        max_gap: float,
        kept: int,
        memory: int = 0,
        store: PrefixStore | None = None,
    ) -> None:
        capabilities = backend.capabilities
        self._backend = backend
        self._context_length = capabilities.context_length
        self._in_parts = capabilities.parts
        self._restorable = cuttable = capabilities.restore_truncates
        self._kept = kept
        self._max_gap = max_gap
        self.cache = PrefixCache(
            range(capabilities.slots),
            truncate=capabilities.truncate,
            multiple=capabilities.chunk_multiple,
        )
        self._copier = Copier(backend, self.cache, max_gap=max_gap)
        self._memory = HostMemory(self.cache, limit=memory, cuttable=cuttable)
        self._disk = Disk(store, self.cache, cuttable=cuttable) if store is not None else None
        self._noted: deque[Sequence] = deque()
        self._parts: PartCopy | None = None

    def rescue(self, holding: Holding, *, beside: bool) -> None:
        """Its slot is about to be emptied: keep a copy of it in memory, if it is worth that, and
        quickly made if that is `beside` running streams."""
        tokens = holding.tokens[: self._copier.length(holding)]
        if self._is_covered(tokens):
            return
        assert holding.slot is not None
        size = self._backend.state_size(holding.slot)
        if self._memory.takes(size) and not (beside and self._copier.holds_up(holding)):
            self._move(holding, holding.slot, tokens)

    def clear(self, *, beside: bool) -> None:
        """A sequence begins: what is kept leaves the context, as far as it is more than may be
        kept, and nothing is lost by that. What is worth least leaves first.

        To fetch it again takes far less than to read it.
        """
        end = time.perf_counter() + self._max_gap / 2
        holdings = self.cache.by_value("kept")
        excess = sum(holding.length for holding in holdings) - self._kept
        for holding in holdings:
            if excess <= 0 or (beside and time.perf_counter() > end):
                return
            if self._leave(holding, beside=beside):
                excess -= holding.length

    def _leave(self, holding: Holding, *, beside: bool) -> bool:
        """Empty the slot of what is kept, if nothing is lost by that."""
        slot = holding.slot
        if slot is None or not self._can_leave(holding, slot, beside=beside):
            return False
        self.cache.drop(holding)
        self._backend.remove(slot)
        return True

    def _can_leave(self, holding: Holding, slot: int, *, beside: bool) -> bool:
        """Whether there is a copy of all that is worth one; it is made if that costs no other."""
        tokens = holding.tokens[: self._copier.length(holding)]
        if holding.length - len(tokens) >= _WORTH:
            return False  # what was written behind its last mark would be lost
        if self._is_covered(tokens):
            return True
        size = self._backend.state_size(slot)
        if size > self._memory.room or (beside and self._copier.holds_up(holding)):
            return False
        return self._move(holding, slot, tokens)

    def _is_covered(self, tokens: Tokens) -> bool:
        covered = max(self.cache.covered(tokens, tier) for tier in ("host", "disk"))
        return len(tokens) - covered < _WORTH

    def _move(self, holding: Holding, slot: int, tokens: Tokens) -> bool:
        """Copy a state to memory. False: that failed, and the slot is as it was."""
        if len(tokens) < holding.length and not self._backend.truncate(slot, len(tokens)):
            return False
        state = self._copier.save(slot)
        if state is not None:
            self._memory.add(tokens, state, uses=holding.uses)
        return state is not None or len(tokens) < holding.length

    def ready(self, holding: Holding, *, beside: bool) -> bool:
        """Whether a slot can be filled from it now. `beside` running streams a state that is on
        disk is first read into memory while they go on."""
        if self._disk is None or not beside or not isinstance(holding.state, Entry):
            return True
        return self._disk.ready(holding.state)

    def restore(self, holding: Holding, slot: int, make_room: Callable[[], bool]) -> bool:
        """Fill an empty slot from a copy, for which room is made as long as that is possible. One
        that is gone, or is refused though there is room, is forgotten."""
        state = holding.state
        if isinstance(state, Entry):
            assert self._disk is not None
            state = self._disk.take(state)
        while state is not None:
            if self._backend.load(slot, state):
                return True
            if self.cache.tokens_beside(slot) + holding.length <= self._context_length:
                break
            if not make_room():
                return False
        self.cache.drop(holding)
        return False

    def note(self, sequence: Sequence, *, beside: bool) -> None:
        """Its prompt is read: it goes to the disk soon, if it is long. What would hold up its own
        stream, and cannot be had in parts, is copied before that begins, unless it is `beside`
        others: to read so much has taken a hundred times as long."""
        holding = self.cache.live(sequence)
        if self._disk is None or holding is None or not sequence.reuse:
            return
        if not (beside or self._in_parts) and self._copier.holds_up(holding):
            self._write(self._disk, holding, beside=False)
        else:
            self._noted.append(sequence)

    def marked(self, sequence: Sequence, *, beside: bool) -> None:
        """Its slot was marked, and holds what is to go to the disk. Where it cannot be cut after it
        was loaded, a copy later would take another slot, so it is made now, if that is quick or not
        `beside` running streams."""
        holding = self.cache.live(sequence)
        if self._disk is None or holding is None or not sequence.reuse:
            return
        if not self._restorable:
            self._write(self._disk, holding, beside=beside)

    def save(self, *, beside: bool) -> None:
        """Between two steps: at most one copy, a quick one or a part of one if it is `beside`
        running streams."""
        if self._disk is None:
            return
        self._disk.take_in()
        while self._noted and not self._copier.copied and not self._disk.full:
            holding = self.cache.live(self._noted[0])
            if holding is None or not self._go_on(self._disk, holding, beside=beside):
                self._noted.popleft()
                self._parts = None
        self._copier.copied = False

    def _go_on(self, disk: Disk, holding: Holding, *, beside: bool) -> bool:
        """Copy it, or the next part of it. False: that was all, or no more can be done now."""
        if self._write(disk, holding, beside=beside) or not (beside and self._in_parts):
            return False
        if self._parts is None or self._parts.holding is not holding:
            self._parts = self._copier.in_parts(holding) if self._is_due(disk, holding) else None
        parts = self._parts
        if parts is None or not self._copier.add_part(parts):
            return False
        if parts.complete:
            holding.offered = len(parts.tokens)
            disk.write(parts.tokens, memoryview(parts.state))
        return not parts.complete

    def tidy(self) -> bool:
        """While nothing runs: copy one prefix more to the disk, or prepare for that. False: there
        is nothing that can be done now."""
        if self._disk is None:
            return False
        self._disk.forget()
        self._disk.take_in()
        for holding in (*self.cache.holdings("kept"), *self.cache.holdings("host")):
            if not self._is_due(self._disk, holding):
                continue
            if self._disk.full:
                self._disk.wait()
                return True
            if self._copier.needs_slot(holding) and not self.cache.has_empty:
                done = any(self._leave(h, beside=False) for h in self.cache.by_value("kept"))
            else:
                done = self._write(self._disk, holding, beside=False)
            if done:
                return True
        return False

    def flush(self, seconds: float) -> None:
        """Let what was handed over be written."""
        if self._disk is not None:
            self._disk.flush(seconds)

    def _write(self, disk: Disk, holding: Holding, *, beside: bool) -> bool:
        """Hand a copy to the disk, if it is due, and can be had now."""
        if not self._is_due(disk, holding) or disk.full:
            return False
        if beside and self._copier.holds_up(holding):
            return False
        tokens = holding.tokens_held[: self._copier.length(holding)]
        state = holding.state if holding.slot is None else self._copier.copy(holding)
        if state is None:
            return False
        holding.offered = holding.length
        disk.write(tokens, state)
        return True

    def _is_due(self, disk: Disk, holding: Holding) -> bool:
        """Whether it is to be copied to the disk, and was not given to it as it is now."""
        return holding.offered != holding.length and disk.wants(
            holding, self._copier.length(holding)
        )
