"""Rows of logits, and what masks leave of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides import RuleGuide

from hubserve_engine.backends import masks

VOCABULARY = 9001


@given(st.sets(st.integers(0, VOCABULARY - 1), max_size=40))
def test_few_tokens_are_told_in_order(allowed: set[int]) -> None:
    row = np.arange(VOCABULARY, dtype=np.float32)
    guide = RuleGuide(VOCABULARY, lambda _accepted: sorted(allowed))
    few = masks.restrict(row, guide)
    assert few is not None and few.tolist() == sorted(allowed)
    assert row.tolist() == list(range(VOCABULARY))


@given(st.sets(st.integers(0, VOCABULARY - 1), max_size=40))
def test_of_many_the_others_can_not_be_chosen(forbidden: set[int]) -> None:
    row = np.arange(VOCABULARY, dtype=np.float32)
    allowed = [token for token in range(VOCABULARY) if token not in forbidden]
    assert masks.restrict(row, RuleGuide(VOCABULARY, lambda _accepted: allowed)) is None
    assert set(np.isneginf(row).nonzero()[0].tolist()) == forbidden
    assert all(row[token] == token for token in allowed[::100])


@pytest.mark.parametrize("count", [masks.FEW, masks.FEW + 1])
def test_the_border_between_the_two(count: int) -> None:
    row = np.zeros(VOCABULARY, np.float32)
    few = masks.restrict(row, RuleGuide(VOCABULARY, lambda _accepted: range(count)))
    assert (few is None) == (count > masks.FEW)
    assert np.isneginf(row).any() == (few is None)


def test_a_guide_without_a_mask_changes_nothing() -> None:
    row = np.ones(10, np.float32)
    assert masks.restrict(row, RuleGuide(10, lambda _accepted: None)) is None
    assert row.tolist() == [1] * 10
