import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.backends.logprobs import token_logprob


def piece(token: int, *, special: bool = False) -> bytes:
    return f"{token}{'s' if special else ''}".encode()


logits = st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=30)


@given(logits, st.data())
def test_the_log_softmax_of_the_row(values: list[float], data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, len(values) - 1))
    alternatives = data.draw(st.integers(0, 40))
    found = token_logprob(np.array(values, np.float32), chosen, alternatives, piece)
    largest = max(values)
    total = largest + math.log(math.fsum(math.exp(v - largest) for v in values))
    assert found.chosen.id == chosen
    for each in (found.chosen, *found.top):
        assert each.logprob == pytest.approx(values[each.id] - total, abs=1e-6)
        assert each.piece == f"{each.id}s".encode()
    count = min(alternatives, len(values))
    ids = [each.id for each in found.top]
    assert len(set(ids)) == len(ids) == count
    assert [values[i] for i in ids] == sorted(values, reverse=True)[:count]


def test_the_row_is_left_as_it_was() -> None:
    row = np.array([1.0, 2.0, 3.0], np.float32)
    token_logprob(row, 0, 3, piece)
    assert row.tolist() == [1.0, 2.0, 3.0]


def test_forbidden_tokens_have_no_probability() -> None:
    row = np.array([0.0, -np.inf], np.float32)
    assert token_logprob(row, 0, 2, piece).top[1].logprob == -math.inf
