"""Chains against plain numpy."""

import numpy as np
import numpy.typing as npt
import pytest
from tests.support.chains import chosen, left, row

from hubserve_engine.backends.llama_cpp.sampler import ChainSampler
from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling

OFF = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=1)


def softmax(row: Row) -> npt.NDArray[np.float64]:
    wide = np.exp(row.astype(np.float64) - float(row.max()))
    return np.asarray(wide / wide.sum())


def likeliest(row: Row) -> list[int]:
    return [int(token) for token in np.argsort(-row, kind="stable")]


ROWS = pytest.mark.parametrize("logits", [row(1), row(2), row(3, 5000)], ids=["1", "2", "large"])


@ROWS
@pytest.mark.parametrize("k", [1, 5, 40])
def test_top_k(logits: Row, k: int) -> None:
    kept = left(Sampling(temperature=1.0, top_k=k, top_p=1.0, min_p=0.0), logits)
    assert set(kept) == set(likeliest(logits)[:k])


@ROWS
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_top_p(logits: Row, p: float) -> None:
    """The fewest of the likeliest tokens that together have at least this probability."""
    order = likeliest(logits)
    count = int(np.searchsorted(np.cumsum(softmax(logits)[order]), p)) + 1
    kept = left(Sampling(temperature=1.0, top_k=0, top_p=p, min_p=0.0), logits)
    assert set(kept) == set(order[:count])


@ROWS
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
def test_min_p(logits: Row, p: float) -> None:
    """Those with at least this part of the likeliest token's probability."""
    probabilities = softmax(logits)
    kept = left(Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=p), logits)
    assert set(kept) == set(np.flatnonzero(probabilities >= p * probabilities.max()).tolist())


@ROWS
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_typical_p(logits: Row, p: float) -> None:
    """Those whose surprise is nearest to the expected one, up to this probability."""
    probabilities = softmax(logits)
    surprise = -np.log(probabilities)
    order = np.argsort(np.abs(surprise - (probabilities * surprise).sum()))
    count = int(np.searchsorted(np.cumsum(probabilities[order]), p, side="right")) + 1
    sampling = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, typical_p=p)
    assert set(left(sampling, logits)) == set(order[:count].tolist())


def test_typical_p_beside_forbidden_tokens() -> None:
    """A probability of zero must not turn the choice into chance."""
    logits = row(1)
    expected = left(Sampling(top_k=0, top_p=1.0, min_p=0.0, typical_p=0.5), logits)
    logits = np.concatenate([logits, np.full(100, -np.inf, np.float32)])
    assert left(Sampling(top_k=0, top_p=1.0, min_p=0.0, typical_p=0.5), logits) == expected


@ROWS
@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_temperature(logits: Row, temperature: float) -> None:
    kept = left(Sampling(temperature=temperature, top_k=0, top_p=1.0, min_p=0.0), logits)
    expected = softmax((logits / temperature).astype(np.float32))
    assert kept == pytest.approx(dict(enumerate(expected.tolist())), abs=1e-5)


def test_the_defaults_are_those_of_llama_server() -> None:
    """top-k 40, then top-p 0.95, then min-p 0.05, then temperature 0.8, in this order."""
    logits = row(4)
    order = likeliest(logits)[:40]
    probabilities = softmax(logits[order])
    order = order[: int(np.searchsorted(np.cumsum(probabilities), 0.95)) + 1]
    probabilities = softmax(logits[order])
    order = [t for t, p in zip(order, probabilities, strict=True) if p >= 0.05 * probabilities[0]]
    expected = softmax((logits[order] / 0.8).astype(np.float32))
    kept = left(Sampling(), logits)
    assert kept == pytest.approx(dict(zip(order, expected.tolist(), strict=True)), abs=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 2, 2**40])
def test_draws_follow_the_probabilities(seed: int) -> None:
    sampler = ChainSampler(
        Sampling(temperature=1.0, top_k=3, top_p=1.0, min_p=0.0, seed=seed), [], {}, 64
    )
    drawn = [chosen(sampler, row(1, 16)) for _ in range(600)]
    for token, probability in left(
        Sampling(temperature=1.0, top_k=3, top_p=1.0, min_p=0.0), row(1, 16)
    ).items():
        assert drawn.count(token) / 600 == pytest.approx(probability, abs=0.1)


@pytest.mark.parametrize("seed", [2**32 - 1, -1, 2**40, -(2**40)])
def test_every_seed_is_one(seed: int) -> None:
    """2**32 - 1 means a random one to llama.cpp."""

    def draws() -> list[int]:
        sampler = ChainSampler(
            Sampling(temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=seed), [], {}, 64
        )
        return [chosen(sampler, row(1)) for _ in range(20)]

    assert draws() == draws()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(top_k=2**40),
        Sampling(temperature=1e30),
        Sampling(top_p=0.0),
        Sampling(min_p=1.0),
        Sampling(typical_p=0.0),
        Sampling(repeat_last_n=2**40, repeat_penalty=1.1),
        Sampling(repeat_last_n=-1, repeat_penalty=1.1),
        Sampling(repeat_penalty=1e-30),
        Sampling(presence_penalty=-2.0, frequency_penalty=2.0),
    ],
    ids=str,
)
def test_extreme_settings_still_choose_a_token(sampling: Sampling) -> None:
    sampler = ChainSampler(sampling, [1, 2, 3], {}, 64)
    logits = row(1)
    sampler.edit(logits)
    assert 0 <= chosen(sampler, logits) < len(logits)
