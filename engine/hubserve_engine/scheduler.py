"""Who runs, what is in the next step, and who has to make room. Pure policy: no clock, no backend.

Sequences wait in the order of their arrival. A running one holds a slot of the backend. A step
takes one token of every sequence that writes, then prompt tokens in order of arrival, up to a
budget. When memory runs out the youngest gives its slot back and waits again, so that no one fails.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Tokens
from dataclasses import dataclass

from hubserve_engine.prefix_cache import PrefixCache
from hubserve_engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Work:
    """The next `count` tokens of a sequence. `last` if no more of its tokens are known after them,
    so that one is to be sampled. `drafts` are guesses to verify after them."""

    sequence: Sequence
    count: int
    last: bool
    drafts: Tokens[int] = ()


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

    `min_chunk`: no prompt is cut so that a smaller part comes out, nor is more taken from a kept
    prefix than leaves such a part to read (see `Capabilities`). So the numbers of a prompt do not
    depend on what ran before or runs beside it.
    """

    def __init__(
        self, *, slots: int, capacity: int, max_batch: int, min_chunk: int, truncate: bool
    ) -> None:
        assert max_batch >= max(slots, 2 * min_chunk), "a step must hold what cannot be cut"
        self._capacity = capacity
        self._max_batch = max_batch
        self._min_chunk = min_chunk
        self._waiting: list[Sequence] = []
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

    def finish(self, sequence: Sequence, *, keep: bool) -> int | None:
        """Take a sequence out, wherever it is; with `keep` its slot can serve others as a prefix.

        Returns the slot that is to be emptied, if it is not kept.
        """
        if sequence in self._waiting:
            self._waiting.remove(sequence)
            return None
        self._running.remove(sequence)
        slot = sequence.slot
        assert slot is not None
        if keep and sequence.cached:
            self.cache.keep(slot, sequence.tokens[: sequence.cached])
            slot = None
        else:
            self.cache.free(slot)
        sequence.release()
        return slot

    def admit(self) -> Iterator[Admission]:
        """Give slots to waiting sequences, first come first served.

        The caller must carry each admission out, and tell the sequence what its slot holds, before
        it asks for the next.
        """
        for sequence in tuple(self._waiting):
            leader = self._unread_leader(sequence)
            if leader is not None and self._to_share(leader):
                continue  # its prompt is being read: soon it is copied instead of read again
            admission = self._place(sequence) if self._fits(sequence) else None
            if admission is None:
                return
            self._waiting.remove(sequence)
            sequence.attach(admission.slot)
            self._running.append(sequence)
            yield admission

    def _unread_leader(self, sequence: Sequence) -> Sequence | None:
        """The leader, while it runs and holds nothing but a part of the prompt."""
        leader = sequence.leader
        return leader if leader in self._running and not leader.started else None

    def _place(self, sequence: Sequence) -> Admission | None:
        leader = self._unread_leader(sequence)
        if leader is not None and leader.cached:
            slot = self.cache.take_any()
            return None if slot is None else Admission(sequence, slot, leader.cached, leader.slot)
        limit = max(len(sequence.tokens) - self._min_chunk, 0) if sequence.reuse else 0
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
        """The next step: every writing sequence, then about `prefill_budget` prompt tokens.

        A budget below the smallest chunk counts as that.
        """
        works = [Work(s, 1, last=True) for s in self._running if s.uncached == 1]
        room = self._max_batch - len(works)
        budget = min(max(prefill_budget, self._min_chunk), room)
        for sequence in self._running:
            if sequence.uncached == 1:
                continue
            count = self._chunk(self._wanted(sequence), budget, room)
            if not count:
                break
            works.append(Work(sequence, count, last=count == sequence.uncached))
            budget -= count
            room -= count
        return works

    def _wanted(self, sequence: Sequence) -> int:
        """How much of a prompt to read now. One that others wait to copy stops a smallest chunk
        before its end, so that each of them reads that itself and samples on its own."""
        return (self._has_followers(sequence) and self._to_share(sequence)) or sequence.uncached

    def _to_share(self, sequence: Sequence) -> int:
        """How much of its prompt is still to be read once for all choices, or 0."""
        left = sequence.uncached - self._min_chunk
        return left if left >= self._min_chunk else 0

    def _chunk(self, wanted: int, budget: int, room: int) -> int:
        """A part of what is wanted, cut so that neither it nor the rest is too small."""
        if wanted <= budget:
            return wanted
        if budget < self._min_chunk:
            return 0
        if (cut := min(budget, wanted - self._min_chunk)) >= self._min_chunk:
            return cut
        return wanted if wanted <= room else 0

    def _has_followers(self, sequence: Sequence) -> bool:
        return not sequence.started and any(s.leader is sequence for s in self._waiting)

    def make_room(self) -> int | None:
        """The slot to empty now that memory has run out: the oldest kept prefix, else that of the
        youngest running sequence, which takes its place in the queue again. None when only one runs
        and nothing is kept.
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
        self._waiting = sorted([youngest, *self._waiting], key=lambda s: s.arrival)
        return slot
