"""Sampling in numpy against llama.cpp's own chain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.chains import left, row

from hubserve_engine.backends.masks import Row
from hubserve_engine.backends.transformers.sampler import RowSampler, remaining
from hubserve_engine.types import Sampling

PLAIN = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=1)


def kept(sampling: Sampling, logits: Row) -> dict[int, float]:
    tokens, chances = remaining(sampling, logits)
    return dict(zip(tokens.tolist(), chances.tolist(), strict=True))


@given(
    seed=st.integers(0, 50),
    temperature=st.sampled_from([0.3, 0.8, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 500]),
    typical_p=st.sampled_from([1.0, 0.9, 0.5, 0.1]),
    top_p=st.sampled_from([1.0, 0.95, 0.5, 0.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
def test_what_is_left_is_what_llama_cpp_leaves(
    seed: int, temperature: float, top_k: int, typical_p: float, top_p: float, min_p: float
) -> None:
    sampling = Sampling(
        temperature=temperature, top_k=top_k, typical_p=typical_p, top_p=top_p, min_p=min_p
    )
    logits = row(seed)
    assert kept(sampling, logits) == pytest.approx(left(sampling, logits), abs=1e-5)


def test_forbidden_tokens_are_not_left() -> None:
    logits = row(1)
    logits[5:] = -np.inf
    for sampling in (PLAIN, Sampling(), Sampling(typical_p=0.5)):
        assert set(kept(sampling, logits)) <= set(range(5))


def test_draws_follow_the_probabilities() -> None:
    sampler = RowSampler(PLAIN, [], {}, 64)
    logits = row(2, 8)
    drawn = [sampler.choose(logits) for _ in range(4000)]
    for token, chance in kept(PLAIN, logits).items():
        assert drawn.count(token) / 4000 == pytest.approx(chance, abs=0.04)


@pytest.mark.parametrize("seed", [0, -1, 2**31, 2**64 + 5])
def test_every_seed_is_one(seed: int) -> None:
    def draws() -> list[int | None]:
        sampler = RowSampler(Sampling(temperature=2.0, top_k=0, seed=seed), [], {}, 64)
        return [sampler.choose(row(1)) for _ in range(20)]

    assert draws() == draws()


@pytest.mark.parametrize("sampling", [PLAIN, Sampling(temperature=0)], ids=["chance", "greedy"])
def test_a_row_without_a_finite_logit_has_no_token(sampling: Sampling) -> None:
    sampler = RowSampler(sampling, [], {}, 64)
    for value in (math.nan, -math.inf):
        assert sampler.choose(np.full(20, value, np.float32)) is None


def test_the_likeliest_is_taken_where_nothing_is_left_to_chance() -> None:
    logits = row(3)
    assert RowSampler(Sampling(temperature=0), [], {}, 64).choose(logits) == logits.argmax()


def test_among_few_tokens_only_those_are_chosen() -> None:
    logits, few = row(4), np.array([3, 70, 200])
    sampler = RowSampler(Sampling(temperature=9.0, top_p=1.0, min_p=0.0, seed=1), [], {}, 64)
    assert {sampler.choose(logits, few) for _ in range(300)} == {3, 70, 200}
    greedy = RowSampler(Sampling(temperature=0), [], {}, 64)
    assert greedy.choose(logits, few) == few[logits[few].argmax()]
    assert greedy.choose(logits, few[:0]) is None
