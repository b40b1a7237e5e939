"""Threads beside busy neighbours, in simulation.

A step is some work and a number of barriers. Where all threads have a core each, they share the
work. Where some wait for a core, each barrier costs a turn of whoever has it.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.crew import Crew


class Machine:
    """Cores, busy neighbours, and the time that passes. Times are in seconds. It `tells` how long
    threads waited for a core, or does not."""

    def __init__(
        self, cores: int, *, turn: float = 0.003, seed: int = 0, tells: bool = True
    ) -> None:
        self.cores = cores
        self.neighbours = 0
        self.now = 0.0
        self._turn = turn
        self._numbers = random.Random(seed)
        self._waited = 0.0
        self._idle = 0.0
        self.crew = Crew(
            cores,
            clock=lambda: self.now,
            waited=lambda: self._waited if tells else None,
            idle=lambda: self._idle if tells else None,
        )
        self.changes: list[float] = []

    def step(self, tokens: int = 1, work: float = 0.02) -> float:
        threads = self.crew.threads
        seconds = tokens * work / threads
        crowded = threads + self.neighbours - self.cores
        if crowded > 0 and threads > 1:
            seconds += 100 * self._turn * min(crowded, self.cores) / self.cores
        elif crowded > 0:
            seconds *= 1 + self.neighbours / self.cores
        seconds *= self._numbers.uniform(1.0, 1.15)
        self.now += seconds
        # A neighbour has its share of a core; and what serves a stream takes one now and then.
        self._waited += seconds * (0.5 * max(crowded, 0) + 0.1)
        self._idle += seconds * max(0.9 * self.cores - threads - self.neighbours, 0)
        if self.crew.observe(tokens, seconds) != threads:
            self.changes.append(self.now)
        return seconds

    def run(self, seconds: float, tokens: int = 1, work: float = 0.02) -> float:
        """Steps in a second, on average over that time."""
        began, steps = self.now, 0
        while self.now < began + seconds:
            self.step(tokens, work)
            steps += 1
        return steps / (self.now - began)


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
@pytest.mark.parametrize("tokens", [1, 256])
def test_a_quiet_machine_is_used_whole(cores: int, tokens: int) -> None:
    machine = Machine(cores)
    machine.run(120, tokens, 0.02 if tokens == 1 else 0.002)
    assert machine.changes == []
    assert machine.crew.threads == cores


@pytest.mark.parametrize("neighbours", [1, 2, 4])
@pytest.mark.parametrize("cores", [2, 4, 16])
def test_beside_a_neighbour_threads_are_lowered_and_come_back(cores: int, neighbours: int) -> None:
    machine = Machine(cores)
    quiet = machine.run(10)
    machine.neighbours = neighbours
    machine.run(10)
    beside = machine.run(60)
    assert machine.crew.threads <= max(1, cores - neighbours)
    collapsed = 1 / (0.02 / cores + 100 * 0.003 * min(neighbours, cores) / cores)
    assert beside > 3 * collapsed
    machine.neighbours = 0
    machine.run(40)
    assert machine.crew.threads == cores
    assert machine.run(10) > 0.9 * quiet


@pytest.mark.parametrize("neighbours", [1, 2, 4])
@pytest.mark.parametrize("cores", [2, 4, 16])
def test_neighbours_that_were_there_first_are_noticed(cores: int, neighbours: int) -> None:
    """No step was ever quick, so there is nothing that the slow ones are slower than."""
    machine = Machine(cores)
    machine.neighbours = neighbours
    machine.run(20)
    assert machine.crew.threads <= max(1, cores - neighbours)
    machine.neighbours = 0
    machine.run(40)
    assert machine.crew.threads == cores


def test_neighbours_that_were_there_first_are_noticed_while_a_prompt_is_read() -> None:
    machine = Machine(2, turn=0.02)
    machine.neighbours = 2
    machine.step(8, 0.002)
    machine.run(20, 96, 0.002)
    assert machine.crew.threads == 1


def test_a_short_prompt_beside_neighbours_costs_no_trial_that_proves_nothing() -> None:
    """Its steps are of other sizes than those that follow."""
    machine = Machine(2)
    machine.neighbours = 2
    for tokens in (8, 18):
        machine.step(tokens)
    machine.run(20)
    assert len(machine.changes) == 1


def test_fewer_threads_that_were_of_no_use_from_the_beginning_are_not_tried_on_and_on() -> None:
    """Threads wait for a core, and would all the same if there were fewer."""
    machine = Machine(2, turn=0.0)
    machine.neighbours = 1
    machine.run(60)
    assert machine.crew.threads == 2
    assert len(machine.changes) <= 2


def test_a_short_visit_is_over_within_seconds() -> None:
    machine = Machine(2)
    machine.run(5)
    machine.neighbours = 1
    machine.run(3)
    assert machine.crew.threads == 1
    machine.neighbours = 0
    machine.run(6)
    assert machine.crew.threads == 2


def test_where_no_core_is_free_no_more_threads_are_tried() -> None:
    """Each trial costs a step that stands still until the neighbours let it go on."""
    machine = Machine(2)
    machine.run(10)
    machine.neighbours = 2
    machine.run(10)
    assert machine.crew.threads == 1
    machine.changes.clear()
    machine.run(300)
    assert machine.changes == []
    machine.neighbours = 0
    machine.run(5)
    assert machine.crew.threads == 2


def test_trials_get_rare_and_cost_little() -> None:
    machine = Machine(2)
    machine.run(5)
    machine.neighbours = 1
    machine.run(60)
    machine.changes.clear()
    machine.run(120)
    assert len(machine.changes) <= 10
    alone = 1 / (0.02 * 1.5 * 1.075)
    assert machine.run(120) > 0.9 * alone


def test_prompts_are_read_on_fewer_threads_too() -> None:
    machine = Machine(2, turn=0.02)
    machine.run(20, 256, 0.002)
    machine.neighbours = 1
    machine.run(20, 256, 0.002)
    assert machine.crew.threads == 1


@pytest.mark.parametrize("cores", [2, 4])
def test_where_nobody_tells_who_waited_steps_alone_decide(cores: int) -> None:
    machine = Machine(cores, tells=False)
    machine.run(5)
    machine.neighbours = 1
    machine.run(20)
    assert machine.crew.threads < cores
    machine.neighbours = 0
    machine.run(40)
    assert machine.crew.threads == cores


def test_who_did_not_wait_needs_no_trial() -> None:
    machine = Machine(2)
    for chunk in range(120):
        machine.step(256, 0.002 * (1 + chunk / 10))
    machine.run(10, work=0.06)
    assert machine.changes == []


def test_a_context_that_grows_is_no_neighbour() -> None:
    machine = Machine(2, tells=False)
    for chunk in range(120):
        machine.step(256, 0.002 * (1 + chunk / 10))
    for step in range(3000):
        machine.step(1, 0.02 * (1 + step / 1000))
    assert len(machine.changes) <= 20
    assert machine.crew.threads == 2


def test_a_longer_context_is_soon_known_as_one() -> None:
    machine = Machine(2, tells=False)
    machine.run(10, work=0.02)
    machine.run(10, work=0.06)
    assert machine.crew.threads == 2


def test_mixed_sizes_are_not_taken_for_each_other() -> None:
    machine = Machine(4)
    for step in range(500):
        machine.step(1 + step % 7)
        machine.step(256 if step % 3 else 64, 0.002)
    assert machine.crew.threads == 4
    assert machine.changes == []


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 32),
    st.lists(st.tuples(st.integers(1, 512), st.floats(1e-4, 2.0)), max_size=300),
)
def test_there_is_always_a_thread_and_never_more_than_asked_for(
    most: int, steps: list[tuple[int, float]]
) -> None:
    now = 0.0
    crew = Crew(most, clock=lambda: now, waited=lambda: None)
    for tokens, seconds in steps:
        now += seconds
        assert 1 <= crew.observe(tokens, seconds) <= most
