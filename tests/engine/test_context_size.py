"""`tests/engine/test_select.py` tests more of it, with what llama.cpp takes."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.context_size import fitting, notices


@dataclass(frozen=True)
class Line:
    """So many bytes a token."""

    weights: int
    trained: int
    slope: int

    def bytes(self, context: int) -> int:
        return self.slope * context


@given(
    free=st.integers(0, 10**9),
    weights=st.integers(0, 10**8),
    slope=st.integers(1, 10**5),
    asked=st.none() | st.integers(1, 10**6),
)
def test_what_is_chosen_fits_or_is_the_smallest(
    free: int, weights: int, slope: int, asked: int | None
) -> None:
    need = Line(weights, 0, slope)
    context, limit = fitting(need, free, asked)
    assert limit
    assert context % 256 == 0
    if context > 512:
        assert need.bytes(context) <= max(free - weights, free // 2)
    assert context <= (-(-asked // 256) * 256 if asked else 32768)


def test_only_what_was_asked_for_is_worth_a_notice() -> None:
    need = Line(0, 4096, 1)
    assert notices(need, 10**9, None, 512) == []
    assert notices(need, 10**9, 4096, 4096) == []
    (trained,) = notices(need, 10**9, 8192, 8192)
    assert "--ctx-size 8192 is more than the 4096 tokens" in trained
    (smaller,) = notices(need, 1000, 4096, 512)
    assert "made smaller, 512 tokens" in smaller
