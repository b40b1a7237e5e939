"""Who runs, what is in the next step, and who has to make room. Pure policy: no clock, no backend.

Sequences wait in the order of their arrival. A running one holds a slot of the backend. A step
takes what every sequence has just written, then prompt tokens in order of arrival, up to a
budget. One whose beginning another is about to read waits for that, and reads the rest alone. When
memory runs out the youngest gives its slot back and waits again, so that no one fails.
"""

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Series
from dataclasses import dataclass

from hubserve_engine.prefix_cache import Found, Holding, PrefixCache
from hubserve_engine.sequence import Sequence

_LOOKED_AT = 4
"""So many times as many sequences as may run are looked at in a step, as to look takes time."""
OVER = 3
"""A step may read one in so many tokens more than its budget, if that is all of a prompt."""


@dataclass(frozen=True, slots=True)
class Work:
    """The next `count` tokens of a sequence. `last` if no more of its tokens are known after them,
    so that one is to be sampled. `drafts` are guesses to verify after them."""

    sequence: Sequence
    count: int
    last: bool
    drafts: Series[int] = ()


@dataclass(frozen=True, slots=True)
class Admission:
    """A sequence got a slot, in which its first `reused` tokens are to be.

    `source` has them: in this slot, or in another, or in none, and then the slot is to be emptied
    and filled from it. What lies behind them is to be cut off. `evicted` was in the slot before,
    and is lost with it.
    """

    sequence: Sequence
    slot: int
    reused: int
    source: Holding | None = None
    evicted: Holding | None = None


@dataclass(frozen=True, slots=True)
class Evicted:
    """A slot to be emptied, since memory has run out, and what was in it."""

    slot: int
    holding: Holding | None


class Scheduler:
    """Sizes are in tokens: `capacity` of all slots together, `max_batch` of a step. `parallel`
    sequences run at the same time.

    `min_chunk`: no prompt is cut so that a smaller part comes out, nor is more taken from a kept
    prefix than leaves such a part to read; and it is cut at a `multiple` (see `Capabilities`). So
    the numbers of a prompt do not depend on how it was cut.
    """

    def __init__(
        self,
        *,
        parallel: int,
        capacity: int,
        max_batch: int,
        min_chunk: int,
        multiple: int,
        cache: PrefixCache,
    ) -> None:
        self._smallest = min_chunk + multiple - 1
        assert max_batch >= parallel + 2 * self._smallest, "a step must hold what cannot be cut"
        self._parallel = parallel
        self._capacity = capacity
        self._max_batch = max_batch
        self._min_chunk = min_chunk
        self._multiple = multiple
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        self.cache = cache

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
        slot = self.cache.end(sequence, keep=keep)
        sequence.release()
        return slot

    def admit(self, ready: Callable[[Holding], bool] = lambda _: True) -> Iterator[Admission]:
        """Give slots to waiting sequences, first come first served, but for those whose prefix is
        not yet `ready` to be taken.

        The caller must carry each admission out, and tell the sequence what its slot holds, before
        it asks for the next.
        """
        for sequence in self._waiting[: _LOOKED_AT * self._parallel]:
            if len(self._running) == self._parallel:
                return
            found = self._find(sequence)
            if self._is_promised_more(sequence, found.length if found else 0):
                continue
            if found is not None and not ready(found.holding):
                continue
            admission = self._place(sequence, found) if self._fits(sequence, found) else None
            if admission is None:
                return
            self._waiting.remove(sequence)
            self._running.append(sequence)
            yield admission

    def _limit(self, sequence: Sequence) -> int:
        """How much of it may be taken as read: the rest must be a part that can be read alone."""
        most = max(len(sequence.tokens) - self._min_chunk, 0) if sequence.reuse else 0
        return most // self._multiple * self._multiple

    def _find(self, sequence: Sequence) -> Found | None:
        limit = self._limit(sequence)
        room = self._capacity - self.cache.live_tokens
        return self.cache.find(sequence.array, limit, room) if limit else None

    def _is_promised_more(self, sequence: Sequence, there: int) -> bool:
        """Whether a running sequence is about to read a good part of this one's prompt. That one
        pauses where the two part, in case its slot can be copied only as it stands."""
        limit = self._limit(sequence)
        promise = self.cache.promise(sequence.array, limit) if limit else None
        if promise is None or promise.length - there < self._min_chunk:
            return False
        if not self.cache.truncate:
            reader = promise.sequence
            if not self._can_pause(reader, promise.length):
                return False
            reader.pause_at(promise.length)
        return True

    def _can_pause(self, sequence: Sequence, length: int) -> bool:
        """Whether neither the part before nor the part behind would be too small."""
        before, behind = length - sequence.cached, len(sequence.tokens) - length
        return before >= self._min_chunk and behind >= self._min_chunk

    def _place(self, sequence: Sequence, found: Found | None) -> Admission | None:
        """Where it runs: in the slot of its own conversation, or in one that is given a copy.

        A kept prefix of which a part is wanted is copied, not cut, while a slot is empty. Then only
        one that loses less than half is cut, as in the next turn of its own conversation; for a
        stranger, who may share no more than a system prompt, the one goes that is worth least. But
        the same prompt again always takes its own place: llama.cpp's numbers depend a little on
        where in memory a sequence lies, and the same request is to give the same text.
        """
        holding = found.holding if found else None
        length = found.length if found else 0
        if holding is not None:
            self.cache.use(holding)
        if holding is not None and self._stays(sequence, holding, length):
            assert holding.slot is not None
            self.cache.take(holding)
            self.cache.begin(sequence, holding.slot, holding)
            return Admission(sequence, holding.slot, length, holding)
        taken = self.cache.take_slot()
        if taken is None:
            return None
        slot, evicted = taken
        self.cache.begin(sequence, slot, holding)
        return Admission(sequence, slot, length, holding, evicted)

    def _stays(self, sequence: Sequence, holding: Holding, length: int) -> bool:
        """Whether the slot itself is taken that has the prefix, and not another."""
        if holding.tier != "kept":
            return False
        if length == holding.length or length == self._limit(sequence):
            return True
        if self.cache.has_empty:
            return False
        return 2 * length >= holding.length or holding is self.cache.least("kept")

    def _fits(self, sequence: Sequence, found: Found | None) -> bool:
        """Whether it can run beside the others without taking from them soon. Kept prefixes do not
        count, since they can go. Where nobody runs, nobody needs to wait."""
        if not self._running:
            return True
        shared = found.length if found and found.holding.tier == "live" else 0
        margin = self._capacity // 32
        need = self.cache.live_tokens + len(sequence.tokens) - shared + margin
        return need <= self._capacity

    def plan(self, prefill_budget: int) -> list[Work]:
        """The next step: a token of every writing sequence, then about `prefill_budget` tokens of
        what those had to write behind theirs, and of prompts.

        A budget below the smallest chunk counts as that.
        """
        works = []
        writing = [s for s in self._running if s.writes]
        room = self._max_batch - len(writing)
        budget = min(max(prefill_budget, self._smallest), room)
        for sequence in writing:
            count = min(sequence.uncached, 1 + budget)
            works.append(Work(sequence, count, last=count == sequence.uncached))
            budget -= count - 1
            room -= count - 1
        for sequence in self._running:
            if sequence.writes:
                continue
            count = self._chunk(sequence, budget, room)
            if not count:
                break
            works.append(Work(sequence, count, last=count == sequence.uncached))
            budget -= count
            room -= count
        return works

    def _chunk(self, sequence: Sequence, budget: int, room: int) -> int:
        """A part of what is to be read, cut so that neither it nor the rest is too small. What is
        little more than the budget is not cut: small parts take long for what they are."""
        wanted = self._wanted(sequence)
        if wanted <= min(budget + budget // OVER, room):
            return wanted
        if budget < self._smallest:
            return 0
        most = sequence.cached + min(budget, wanted - self._min_chunk)
        cut = most // self._multiple * self._multiple - sequence.cached
        if cut >= self._min_chunk:
            return cut
        return wanted if wanted <= room else 0

    def _wanted(self, sequence: Sequence) -> int:
        """How much to read in one go, if that is not too much: to the next pause, or to the end."""
        for pause in sequence.pauses:
            if self._can_pause(sequence, pause):
                return pause - sequence.cached
        return sequence.uncached

    def evict(self) -> Evicted | None:
        """The slot to empty for want of memory: that of the kept prefix that is worth least."""
        least = self.cache.least("kept")
        if least is None or least.slot is None:
            return None
        self.cache.drop(least)
        return Evicted(least.slot, least)

    def make_room(self) -> Evicted | None:
        """The slot to empty now that memory has run out: that of a kept prefix, else that of the
        youngest running sequence, which takes its place in the queue again. None when only one runs
        and nothing is kept.
        """
        if (evicted := self.evict()) is not None:
            return evicted
        if len(self._running) < 2:
            return None
        youngest = max(self._running, key=lambda s: s.arrival)
        self._running.remove(youngest)
        slot, holding = self.cache.give_up(youngest)
        youngest.release()
        self._waiting = sorted([youngest, *self._waiting], key=lambda s: s.arrival)
        return Evicted(slot, holding)
