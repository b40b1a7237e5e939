"""Who runs, what is in the next step, and who has to make room. Pure policy: no clock, no backend.

Sequences wait in the order of their arrival. A running one holds a slot of the backend. A step
takes one token of every sequence that writes, then prompt tokens in order of arrival, up to a
budget. When memory runs out the youngest gives its slot back and waits at the front, so that no one
fails.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from hubserve_engine.prefix_cache import PrefixCache
from hubserve_engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Work:
    """The next `count` tokens of a sequence. `last` if no more of its tokens are known after them,
    so that one is to be sampled."""

    sequence: Sequence
    count: int
    last: bool


@dataclass(frozen=True, slots=True)
class Admission:
    """A sequence got a slot. `reused` tokens of that slot are its own prefix; what lies behind them
    is to be cut off. With a `source`, the slot is first made a copy of that one."""

    sequence: Sequence
    slot: int
    reused: int
    source: int | None = None


class Scheduler:
    """Sizes are in tokens: `capacity` of all slots together, `max_batch` of a step.

    `min_chunk`: no prompt is cut so that less than this is left over (see `Capabilities`).
    """

    def __init__(
        self, *, slots: int, capacity: int, max_batch: int, min_chunk: int, truncate: bool
    ) -> None:
        self._capacity = capacity
        self._max_batch = max_batch
        self._min_chunk = min_chunk
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self.cache = PrefixCache(range(slots), truncate=truncate)

    @property
    def running(self) -> tuple[Sequence, ...]:
        return tuple(self._running)

    @property
    def waiting(self) -> tuple[Sequence, ...]:
        return tuple(self._waiting)

    @property
    def idle(self) -> bool:
        return not self._running and not self._waiting

    def add(self, sequence: Sequence) -> None:
        self._waiting.append(sequence)

    def finish(self, sequence: Sequence, *, keep: bool) -> None:
        """Take a sequence out, wherever it is; with `keep` its slot can serve others as a prefix."""
        if sequence in self._waiting:
            self._waiting.remove(sequence)
            return
        self._running.remove(sequence)
        assert sequence.slot is not None
        if keep and sequence.cached:
            self.cache.keep(sequence.slot, sequence.tokens[: sequence.cached])
        else:
            self.cache.free(sequence.slot)
        sequence.release()

    def admit(self) -> Iterator[Admission]:
        """Give slots to waiting sequences, first come first served.

        The caller must carry each admission out before it asks for the next.
        """
        for sequence in tuple(self._waiting):
            if sequence.leader in self._running and sequence.leader.reading:
                continue  # its prompt is being read: soon it is copied instead of read again
            admission = self._place(sequence) if self._fits(sequence) else None
            if admission is None:
                return
            self._waiting.remove(sequence)
            sequence.attach(admission.slot, admission.reused)
            self._running.append(sequence)
            yield admission

    def _place(self, sequence: Sequence) -> Admission | None:
        leader = sequence.leader
        if leader in self._running and not leader.started and leader.slot is not None:
            slot = self.cache.take_any()
            return None if slot is None else Admission(sequence, slot, leader.cached, leader.slot)
        limit = len(sequence.tokens) - 1 if sequence.reuse else 0
        found = self.cache.take_best(sequence.tokens, limit)
        if found is None:
            return None
        return Admission(sequence, found.slot, found.length, found.source)

    def _fits(self, sequence: Sequence) -> bool:
        """Whether it can run beside the others without taking from them soon. Kept prefixes do not
        count, since they can go; nor is anyone kept waiting by an empty house."""
        if not self._running:
            return True
        used = sum(len(s.tokens) for s in self._running)
        margin = self._capacity // 32
        return used + len(sequence.tokens) + margin <= self._capacity

    def plan(self, prefill_budget: int) -> list[Work]:
        """The next step: every writing sequence, then up to `prefill_budget` prompt tokens."""
        writing = [s for s in self._running if s.uncached == 1]
        reading = [s for s in self._running if s.uncached > 1]
        works = [Work(s, 1, last=True) for s in writing]
        # Twice the smallest chunk always holds one that leaves no smaller one behind.
        room = min(max(prefill_budget, 2 * self._min_chunk), self._max_batch - len(works))
        for sequence in reading:
            count = self._chunk(sequence, room)
            if count <= 0:
                break
            works.append(Work(sequence, count, last=count == sequence.uncached))
            room -= count
        return works

    def _chunk(self, sequence: Sequence, room: int) -> int:
        """How much of a prompt to read. A sequence that others wait to copy stops before its last
        token, so that each of them decodes that one itself and samples on its own."""
        left = sequence.uncached - (1 if self._has_followers(sequence) else 0)
        if left <= room:
            return left
        room = min(room, left - self._min_chunk)
        return room if room >= self._min_chunk else 0

    def _has_followers(self, sequence: Sequence) -> bool:
        return not sequence.started and any(s.leader is sequence for s in self._waiting)

    def make_room(self) -> int | None:
        """The slot to empty now that memory has run out: the oldest kept prefix, else that of the
        youngest running sequence, which waits again. None when only one runs and nothing is kept.
        """
        slot = self.cache.evict()
        if slot is not None:
            return slot
        if len(self._running) < 2:
            return None
        youngest = max(self._running, key=lambda s: s.arrival)
        self._running.remove(youngest)
        assert youngest.slot is not None
        slot = youngest.slot
        self.cache.free(slot)
        youngest.release()
        self._waiting.appendleft(youngest)
        return slot
