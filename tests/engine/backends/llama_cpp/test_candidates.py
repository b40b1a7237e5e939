import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.chains import chosen

from hubserve_engine.backends.llama_cpp import candidates
from hubserve_engine.backends.llama_cpp.candidates import Candidates
from hubserve_engine.backends.llama_cpp.sampler import ChainSampler
from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling

SIZES = st.integers(candidates.SMALLEST, candidates.SMALLEST + 3000)
KINDS = st.sampled_from(["spread", "coarse", "few", "flat"])


def make(kind: str, size: int, seed: int) -> Row:
    """Logits: all different, with many ties, mostly forbidden, or all the same."""
    numbers = np.random.default_rng(seed)
    row = numbers.normal(0, 4, size).astype(np.float32)
    if kind == "coarse":
        row = np.round(row)
    elif kind == "few":
        row[numbers.permutation(size)[20:]] = -np.inf
    elif kind == "flat":
        row[:] = 1
    return row


@given(KINDS, SIZES, st.integers(0, 99), st.integers(1, candidates.MOST))
def test_all_of_the_likeliest_are_among_them(kind: str, size: int, seed: int, count: int) -> None:
    row = make(kind, size, seed)
    least = np.sort(row)[-count]
    found = Candidates(size).likeliest(row, count)
    assert set(np.flatnonzero(row >= least)) <= set(found)
    if kind == "spread":
        assert len(found) < 2 * count + 64


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(seed=3),
        Sampling(seed=4, temperature=1.5, top_p=1.0, min_p=0.0),
        Sampling(seed=5, top_k=200, typical_p=0.7),
        Sampling(seed=6, top_k=1),
    ],
)
def test_the_chain_samples_what_it_samples_from_all_tokens(sampling: Sampling) -> None:
    few, all_tokens = (ChainSampler(sampling, [], {}, 512) for _ in range(2))
    room = Candidates(candidates.SMALLEST)
    for seed in range(20):
        row = make("spread", candidates.SMALLEST, seed)
        token = room.sample(few.chain, row, sampling.top_k)
        assert token == chosen(all_tokens, row)


def test_a_row_without_numbers_gives_some_token() -> None:
    row = np.full(candidates.SMALLEST, np.nan, np.float32)
    sampler = ChainSampler(Sampling(seed=1), [], {}, 512)
    assert 0 <= Candidates(len(row)).sample(sampler.chain, row, 40) < len(row)
