"""What a step costs: what is usual, then what was measured."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.step_cost import StepCost


def usual(cost: StepCost) -> bool:
    return [cost(n) for n in (1, 2, 5, 7, 8, 16, 32)] == pytest.approx(
        [1, 1.8, 3.45, 4.6, 6.7, 8.6, 17.2]
    )


def steps(cost: StepCost, size: int, seconds: float, times: int = 1) -> None:
    for _ in range(times):
        cost.observe(size, seconds, guessed=size > 1)


def test_before_anything_is_known_the_cost_is_the_usual_one() -> None:
    cost = StepCost()
    assert usual(cost)
    steps(cost, 1, 0.01)
    assert usual(cost)


def test_what_is_measured_again_and_again_is_believed() -> None:
    cost = StepCost()
    steps(cost, 1, 0.010, 5)
    before = cost(4)
    steps(cost, 4, 0.011)
    assert 1.1 < cost(4) < before
    steps(cost, 4, 0.011, 15)
    assert cost(4) == pytest.approx(1.1, rel=0.02)
    assert 1 < cost(2) < cost(3) < cost(4)
    assert cost(7) == pytest.approx(cost(4) * 4.6 / 2.9)
    steps(cost, 16, 0.012, 20)
    assert cost(4) < cost(8) < cost(16) < 1.3


def test_a_step_that_something_came_between_changes_little() -> None:
    cost = StepCost()
    steps(cost, 1, 0.010, 5)
    steps(cost, 4, 0.029, 5)
    known = cost(4)
    steps(cost, 4, 0.9)
    assert cost(4) < 1.25 * known
    steps(cost, 1, 0.9, 2)
    steps(cost, 4, 0.029, 3)
    assert cost(4) < 1.25 * known


@pytest.mark.parametrize("slower", [0.3, 1.0, 4.0])
def test_a_machine_that_becomes_slower_or_quicker_changes_no_costs(slower: float) -> None:
    numbers = random.Random(2)
    cost = StepCost()
    for i in range(200):
        seconds = 0.01 * (slower if 50 < i < 150 else 1) * numbers.uniform(0.8, 1.3)
        size = numbers.choice([1, 1, 1, 2, 4])
        steps(cost, size, seconds * {1: 1.0, 2: 1.8, 4: 2.9}[size])
    assert cost(2) == pytest.approx(1.8, rel=0.35)
    assert cost(4) == pytest.approx(2.9, rel=0.35)


def test_where_several_write_the_step_without_guesses_is_the_measure() -> None:
    cost = StepCost()
    for _ in range(20):
        cost.observe(4, 0.02, guessed=False)
        cost.observe(7, 0.02, guessed=True)
    assert cost(7) == pytest.approx(cost(4), rel=0.02)


@pytest.mark.parametrize(("since", "known"), [(200, True), (700, False)])
def test_a_size_that_was_slow_once_is_tried_again(since: int, known: bool) -> None:
    cost = StepCost()
    steps(cost, 1, 0.01, 5)
    steps(cost, 4, 5.0, 10)
    steps(cost, 1, 0.01, since)
    steps(cost, 16, 0.086)
    assert (cost(4) > 10) == known


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(1e-4, 1.0), st.booleans()), max_size=50),
    st.integers(1, 50),
)
def test_a_cost_is_always_positive(seen: list[tuple[int, float, bool]], tokens: int) -> None:
    cost = StepCost()
    for size, seconds, guessed in seen:
        cost.observe(size, seconds, guessed=guessed)
    assert cost(tokens) > 0
    assert cost(1) == 1
