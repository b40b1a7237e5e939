"""The scheduler over any course of events: whoever comes is served, and every rule holds always."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.support.sequences import sequence

from hubserve_engine.scheduler import Admission, Scheduler, Work
from hubserve_engine.sequence import Sequence


@dataclass
class House:
    """Memory as a backend has it: each slot's tokens, all together at most `capacity`."""

    capacity: int
    slots: list[list[int]]
    truncate: bool
    forks: bool = True
    admitted: list[Sequence] = field(default_factory=list)

    def carry_out(self, admission: Admission) -> None:
        slot = self.slots[admission.slot]
        if admission.source is not None:
            slot[:] = self.slots[admission.source] if self.forks else []
        reused = admission.reused if admission.source is None or self.forks else 0
        assert self.truncate or len(slot) == reused or not reused, "it cannot be cut"
        del slot[reused:]
        assert slot == admission.sequence.tokens[:reused], "the slot holds something else"
        admission.sequence.hold(reused)

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
        slots=st.integers(1, 5),
        capacity=st.integers(24, 120),
        min_chunk=st.sampled_from([1, 4]),
        max_batch=st.integers(8, 40),
        truncate=st.booleans(),
        forks=st.booleans(),
    )
    def open(
        self,
        slots: int,
        capacity: int,
        min_chunk: int,
        max_batch: int,
        truncate: bool,
        forks: bool,
    ) -> None:
        self.min_chunk, self.max_batch = min_chunk, max_batch
        self.house = House(capacity, [[] for _ in range(slots)], truncate, forks)
        self.scheduler = Scheduler(
            slots=slots,
            capacity=capacity,
            max_batch=max_batch,
            min_chunk=min_chunk,
            truncate=truncate,
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
    )
    def arrive(self, shared: int, own: list[int], answer: int, n: int, reuse: bool) -> None:
        prompt = ([9] * shared + own)[: self.house.capacity - 1]
        leader: Sequence | None = None
        for _ in range(n):
            each = sequence(
                prompt,
                arrival=self.arrivals,
                limit=min(len(prompt) + answer, self.house.capacity),
                leader=leader,
                reuse=reuse,
            )
            leader = leader or each
            self.arrivals += 1
            self.alive.append(each)
            self.scheduler.add(each)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.end(data.draw(st.sampled_from(self.alive)))

    def end(self, each: Sequence) -> None:
        slot = self.scheduler.finish(each, keep=each.reuse)
        if slot is not None:
            self.house.slots[slot].clear()
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
            if work.last:
                work.sequence.tokens.append(work.sequence.arrival % 3)
                if len(work.sequence.tokens) >= work.sequence.limit:
                    self.end(work.sequence)

    def admit(self) -> None:
        for admission in self.scheduler.admit():
            overtaken = [
                s for s in self.scheduler.waiting if s.arrival < admission.sequence.arrival
            ]
            assert all(s.leader in self.scheduler.running for s in overtaken), "not in order"
            self.house.carry_out(admission)
            assert admission.sequence.uncached >= min(
                self.min_chunk, len(admission.sequence.tokens)
            )

    def make_room(self) -> None:
        running = self.scheduler.running
        slot = self.scheduler.make_room()
        assert slot is not None, "one alone always fits"
        gone = set(running) - set(self.scheduler.running)
        if gone:
            (one,) = gone
            assert one.arrival == max(s.arrival for s in running)
            assert one in self.scheduler.waiting
        self.house.slots[slot].clear()

    def check(self, works: list[Work], budget: int) -> None:
        running = self.scheduler.running
        writing = [s for s in running if s.uncached == 1]
        assert [w.sequence for w in works[: len(writing)]] == writing
        prompts = works[len(writing) :]
        assert sum(w.count for w in works) <= self.max_batch
        # What is too short to be cut may go over the budget.
        assert sum(w.count for w in prompts) < max(budget, self.min_chunk) + self.min_chunk
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
        free = [self.scheduler.cache.take_any() for _ in self.house.slots]
        assert sorted(slot for slot in free if slot is not None) == list(range(len(free)))


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=100, stateful_step_count=30)
