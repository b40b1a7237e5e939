import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.pace import Pace

TILE = 64


def paced(seconds_per_token: float) -> Pace:
    pace = Pace(alone=0.5, beside=0.2, tile=TILE)
    pace.observe(100, 100 * seconds_per_token)
    return pace


def test_the_first_step_is_a_short_one() -> None:
    """0.1 s a token is a slow model; even so it stays under 1 s."""
    assert Pace(beside=0.2).budget(writing=False) * 0.1 < 1


@pytest.mark.parametrize("writing", [False, True])
@pytest.mark.parametrize("rate", [2.0, 0.6, 0.1, 0.031, 0.01, 0.001, 1e-5])
def test_a_step_takes_about_the_time_that_it_may(rate: float, writing: bool) -> None:
    target = 0.15 if writing else 0.5
    budget = paced(rate).budget(writing=writing)
    assert budget * rate <= target or (budget == TILE and not writing and budget * rate <= 0.75)
    # Rounded to few sizes, it is still more than half of what would fit.
    assert (budget + 1) * rate > target / 2


def test_a_gpu_is_not_held_back() -> None:
    assert paced(1e-5).budget(writing=False) >= 16384


def test_large_steps_come_in_few_sizes() -> None:
    sizes = {paced(0.5 / tokens).budget(writing=False) for tokens in range(100, 200)}
    assert all(size % 32 == 0 for size in sizes)


def test_one_slow_step_does_not_decide_for_long() -> None:
    """A neighbour that was busy, or weights that had to be read from the disk."""
    pace = paced(0.002)
    usual = pace.budget(writing=False)
    pace.observe(100, 100 * 0.02)
    assert pace.budget(writing=False) < usual
    for _ in range(8):
        pace.observe(100, 100 * 0.002)
    assert pace.budget(writing=False) >= usual - 32


def test_small_steps_that_are_slow_for_being_small_do_not_go_on() -> None:
    """As with flash attention on a CPU, after a stream for which steps had to be small."""
    pace = Pace(beside=0.2, tile=TILE)
    for writing in (True, False):
        for _ in range(20):
            tokens = pace.budget(writing=writing)
            pace.observe(tokens, tokens * (0.011 if tokens < TILE else 0.006))
    assert pace.budget(writing=False) >= TILE


def test_a_first_tile_is_not_tried_where_it_could_take_too_long() -> None:
    """A request that is cancelled in it would hold the others up for longer than a second."""
    pace = Pace(beside=0.2, tile=TILE)
    pace.observe(8, 8 * 0.02)
    assert pace.budget(writing=False) * 0.02 < 0.75


def test_without_tiles_steps_are_as_long_as_they_may_be() -> None:
    """Plain attention takes as long for each token, whatever else the step reads."""
    pace = Pace(beside=0.2)
    pace.observe(8, 8 * 0.014)
    assert pace.budget(writing=False) * 0.014 <= 0.5


@pytest.mark.parametrize(("tokens", "seconds"), [(0, 0.5), (3, 0.5), (64, 0.0), (64, -1.0)])
def test_steps_that_say_nothing_are_left_out(tokens: int, seconds: float) -> None:
    pace = paced(0.01)
    before = pace.budget(writing=False)
    pace.observe(tokens, seconds)
    assert pace.budget(writing=False) == before


@given(st.floats(1e-6, 10), st.floats(0, 2), st.booleans())
def test_steps_settle_under_a_second(
    seconds_per_token: float, seconds_beside: float, writing: bool
) -> None:
    """Whatever a step costs beside its prompt tokens, as long as one chunk of 8 fits at all."""
    pace = Pace(beside=0.2, tile=TILE)
    for _ in range(30):
        tokens = min(max(pace.budget(writing=writing), 8), 512)
        took = tokens * seconds_per_token + seconds_beside
        pace.observe(tokens, took)
    assert took < 1 or tokens == 8
