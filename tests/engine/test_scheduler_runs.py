"""The scheduler over any course of events: whoever comes is served, and every rule holds always."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.support.sequences import sequence

from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.radix_tree import common_length
from hubserve_engine.scheduler import OVER, Admission, Scheduler, Work
from hubserve_engine.sequence import Sequence
from hubserve_engine.types import CacheTier


@dataclass
class House:
    """Memory as a backend has it: each slot's tokens, all together at most `capacity`. A state
    without a past can be cut at its marks alone. With `fails`, nothing is ever copied."""

    capacity: int
    slots: list[list[int]]
    truncate: bool
    fails: bool = False
    marks: dict[int, set[int]] = field(default_factory=dict)

    def carry_out(self, admission: Admission) -> None:
        slot, source, reused = self.slots[admission.slot], admission.source, admission.reused
        marks = self.marks.setdefault(admission.slot, set())
        if source is None:
            assert not reused
        elif source.slot != admission.slot:
            if source.slot is None:
                slot[:] = source.tokens.tolist()
                marks.clear()
            else:
                slot[:] = self.slots[source.slot]
                marks |= self.marks.get(source.slot, set())
            reused = 0 if self.fails else reused
        assert self.truncate or reused in (0, len(slot), *marks), "it cannot be cut"
        del slot[reused:]
        marks &= set(range(reused + 1))
        assert slot == admission.sequence.tokens[:reused], "the slot holds something else"
        admission.sequence.hold(
            reused, source.tier if source else None, source.marks if source and reused else ()
        )

    def clear(self, slot: int) -> None:
        self.slots[slot].clear()
        self.marks.get(slot, set()).clear()

    def mark(self, sequence: Sequence) -> None:
        assert sequence.slot is not None
        self.marks.setdefault(sequence.slot, set()).add(sequence.cached)
        sequence.mark()

    def read(self, work: Work) -> None:
        slot = work.sequence.slot
        assert slot is not None
        assert self.slots[slot] == work.sequence.tokens[: work.sequence.cached]
        self.slots[slot] += work.sequence.next_tokens(work.count)

    @property
    def used(self) -> int:
        return sum(map(len, self.slots))


class Runs(RuleBasedStateMachine):
    @initialize(
        parallel=st.integers(1, 5),
        spare=st.integers(0, 3),
        capacity=st.integers(24, 120),
        smallest=st.sampled_from([(1, 1), (4, 1), (4, 4)]),
        more=st.integers(0, 40),
        truncate=st.booleans(),
        fails=st.booleans(),
    )
    def open(
        self,
        parallel: int,
        spare: int,
        capacity: int,
        smallest: tuple[int, int],
        more: int,
        truncate: bool,
        fails: bool,
    ) -> None:
        self.min_chunk, self.multiple = smallest
        self.smallest = sum(smallest) - 1
        self.max_batch = parallel + 2 * self.smallest + more
        self.house = House(capacity, [[] for _ in range(parallel + spare)], truncate, fails)
        self.parallel = parallel
        self.scheduler = Scheduler(
            parallel=parallel,
            capacity=capacity,
            max_batch=self.max_batch,
            min_chunk=self.min_chunk,
            multiple=self.multiple,
            cache=PrefixCache(range(parallel + spare), truncate=truncate, multiple=self.multiple),
        )
        self.arrivals = 0
        self.alive: list[Sequence] = []
        self.ended = 0

    @rule(
        shared=st.integers(0, 40),
        own=st.lists(st.integers(0, 1), min_size=1, max_size=30),
        answer=st.integers(1, 60),
        n=st.integers(1, 4),
        reuse=st.booleans(),
        pauses=st.lists(st.integers(1, 40), max_size=2),
    )
    def arrive(
        self,
        shared: int,
        own: list[int],
        answer: int,
        n: int,
        reuse: bool,
        pauses: list[int],
    ) -> None:
        prompt = ([9] * shared + own)[: self.house.capacity - 1]
        for _ in range(n):
            each = sequence(
                prompt,
                arrival=self.arrivals,
                limit=min(len(prompt) + answer, self.house.capacity),
                reuse=reuse,
                pauses=pauses,
            )
            self.arrivals += 1
            self.alive.append(each)
            self.scheduler.add(each)

    @rule(
        shared=st.integers(0, 40),
        own=st.lists(st.integers(0, 1), max_size=30),
        tier=st.sampled_from(["host", "disk"]),
    )
    def save(self, shared: int, own: list[int], tier: CacheTier) -> None:
        tokens = ([9] * shared + own)[: self.house.capacity - 1]
        self.scheduler.cache.add(
            Holding(np.array(tokens, np.int32), tier, self.house.truncate, state=b"")
        )

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.end(data.draw(st.sampled_from(self.alive)))

    def end(self, each: Sequence) -> None:
        slot = self.scheduler.finish(each, keep=each.reuse)
        if slot is not None:
            self.house.clear(slot)
        self.alive.remove(each)

    @precondition(lambda self: self.alive)
    @rule(budget=st.integers(0, 50), times=st.integers(1, 10))
    def steps(self, budget: int, times: int) -> None:
        for _ in range(times):
            if self.alive:
                self.step(budget)

    def step(self, budget: int) -> None:
        self.admit()
        while True:
            works = self.scheduler.plan(budget)
            assert works, "nobody can go on"
            self.check(works, budget)
            if self.house.used + sum(w.count for w in works) <= self.house.capacity:
                break
            self.make_room()
        for work in works:
            self.house.read(work)
            work.sequence.cached += work.count
            if work.sequence.cached in work.sequence.pauses:
                self.house.mark(work.sequence)
            if work.last:
                work.sequence.tokens.append(work.sequence.arrival % 3)
                if len(work.sequence.tokens) >= work.sequence.limit:
                    self.end(work.sequence)

    def admit(self) -> None:
        for admission in self.scheduler.admit():
            each = admission.sequence
            assert len(self.scheduler.running) <= self.parallel
            overtaken = [s for s in self.scheduler.waiting if s.arrival < each.arrival]
            assert all(map(self.waits, overtaken)), "not in order"
            self.house.carry_out(admission)
            assert each.uncached >= min(self.min_chunk, len(each.tokens))
            assert each.reuse or not each.cached

    def waits(self, sequence: Sequence) -> bool:
        """Whether a running sequence is about to read what this one begins with."""
        return sequence.reuse and any(
            s.reuse and s.cached < common_length(s.array, sequence.array)
            for s in self.scheduler.running
        )

    def make_room(self) -> None:
        running = self.scheduler.running
        evicted = self.scheduler.make_room()
        assert evicted is not None, "one alone always fits"
        if evicted.holding is not None:
            assert self.house.slots[evicted.slot] == evicted.holding.tokens.tolist()
        gone = set(running) - set(self.scheduler.running)
        if gone:
            (one,) = gone
            assert one.arrival == max(s.arrival for s in running)
            assert one in self.scheduler.waiting
        self.house.clear(evicted.slot)

    def check(self, works: list[Work], budget: int) -> None:
        running = self.scheduler.running
        writing = [s for s in running if s.uncached == 1]
        assert [w.sequence for w in works[: len(writing)]] == writing
        prompts = works[len(writing) :]
        assert sum(w.count for w in works) <= self.max_batch
        # What is too short to be cut may go over the budget.
        most = max(budget, self.smallest) * (OVER + 1) // OVER + 2 * self.smallest
        assert sum(w.count for w in prompts) < most
        for work in prompts:
            left = work.sequence.uncached - work.count
            assert work.last == (left == 0)
            assert left == 0 or left >= self.min_chunk
            assert work.count >= min(self.min_chunk, work.sequence.uncached)

    def teardown(self) -> None:
        """With no one new, everyone comes to an end, however little may be read at a time."""
        if not hasattr(self, "alive"):
            return
        # What each has to read and write, again for every older one that may push it out.
        most = sum(s.limit for s in self.alive) * (len(self.alive) + 1) + 1
        for _ in range(most):
            if not self.alive:
                break
            self.step(0)
        assert not self.alive, "somebody waits for ever"
        assert self.scheduler.idle
        taken = [self.scheduler.cache.take_slot() for _ in self.house.slots]
        assert sorted(slot for slot, _ in filter(None, taken)) == list(range(len(taken)))


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=100, stateful_step_count=30)
