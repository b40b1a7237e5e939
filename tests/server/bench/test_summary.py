"""Medians, ratios run by run, and ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_server.bench.summary import Spread, nearest_rank, ratios, spread

TIMES = st.lists(st.floats(0.001, 1000), min_size=1, max_size=30)


def test_a_spread() -> None:
    assert spread([3, 1, 2]) == Spread(2, 1, 3)
    assert spread([5]) == Spread(5, 5, 5)


def test_a_ratio_is_that_of_runs_made_in_turns() -> None:
    """In the second run the machine was ten times slower for both."""
    assert ratios([2, 20, 2.2], [1, 10, 1]) == Spread(2, 2, 2.2)


@given(TIMES)
def test_a_disturbance_of_whole_runs_changes_no_ratio(values: list[float]) -> None:
    found = ratios([3 * value for value in values], values)
    assert [found.median, found.low, found.high] == pytest.approx([3, 3, 3])


@given(TIMES, st.floats(0.01, 1))
def test_a_rank_is_a_value_that_the_part_does_not_exceed(values: list[float], part: float) -> None:
    found = nearest_rank(values, part)
    assert found in values
    assert sum(value <= found for value in values) >= part * len(values) - 1e-9


def test_the_p95_of_a_few_is_the_last() -> None:
    assert nearest_rank([4, 1, 8, 2], 0.95) == 8
    assert nearest_rank(list(range(1, 101)), 0.95) == 95
