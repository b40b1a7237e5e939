from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.marks import lasting


def test_the_first_and_the_newest_last() -> None:
    assert lasting([40, 10, 30, 20, 50]) == [10, 30, 40, 50]
    assert lasting([30, 10]) == [10, 30]
    assert lasting([]) == []


@given(st.sets(st.integers(1, 100), max_size=12))
def test_one_after_the_other_is_as_all_at_once(marks: set[int]) -> None:
    """The scheduler and the backend each keep count by themselves."""
    kept: list[int] = []
    for mark in sorted(marks):
        kept = lasting([*kept, mark])
    assert kept == lasting(marks)
