"""What a step costs: what is usual, then what was measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.step_cost import StepCost


def test_before_anything_is_known_the_cost_is_the_usual_one() -> None:
    cost = StepCost()
    assert cost(1) == 1
    assert cost(2) == pytest.approx(1.8)
    assert cost(5) == pytest.approx(3.45)
    assert cost(32) == pytest.approx(17.2)


def test_what_was_measured_counts() -> None:
    cost = StepCost()
    cost.observe(1, 0.05)
    assert cost(1) == 0.05
    assert cost(7) == pytest.approx(0.05 * 4.6)
    cost.observe(7, 0.06)
    assert cost(7) == 0.06
    assert 0.05 < cost(2) < cost(4) < 0.06
    assert cost(16) == pytest.approx(0.06 * 8.6 / 4.6)


def test_below_what_was_measured_the_usual_ratio_holds() -> None:
    cost = StepCost()
    cost.observe(4, 0.29)
    assert cost(2) == pytest.approx(0.18)


def test_a_step_that_something_came_between_changes_nothing() -> None:
    cost = StepCost()
    for seconds in (0.010, 0.9, 0.011, 0.5):
        cost.observe(1, seconds)
    assert cost(1) == 0.010


def test_a_machine_that_has_become_slower_is_noticed() -> None:
    cost = StepCost()
    for seconds in (0.010, 0.030, 0.030, 0.030, 0.030, 0.030):
        cost.observe(1, seconds)
    assert cost(1) == 0.030


@pytest.mark.parametrize("steps", [500, 1300])
def test_a_size_that_was_slow_once_is_forgotten(steps: int) -> None:
    cost = StepCost()
    cost.observe(1, 0.01)
    cost.observe(4, 5.0)
    for _ in range(steps):
        cost.observe(1, 0.01)
    assert cost(4) == (5.0 if steps == 500 else pytest.approx(0.029))


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(1e-4, 1.0)), max_size=50), st.integers(1, 50)
)
def test_a_cost_is_always_positive(steps: list[tuple[int, float]], tokens: int) -> None:
    cost = StepCost()
    for size, seconds in steps:
        cost.observe(size, seconds)
    assert cost(tokens) > 0
