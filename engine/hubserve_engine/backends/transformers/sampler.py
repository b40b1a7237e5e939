"""Sampling from a row of logits in numpy, as llama.cpp's chain samples: the same steps in the same
order (penalties and biases, top-k, typical, top-p, min-p, temperature), and then by chance.

Semantics: src/llama-sampler.cpp of llama.cpp, version 0.5.0.
"""

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hubserve_engine.backends.edits import EditingSampler
from hubserve_engine.backends.masks import Row, Tokens
from hubserve_engine.types import Sampling

Floats = npt.NDArray[np.float64]
_SEEDS = 2**64


class RowSampler(EditingSampler):
    """It has one sequence's random numbers."""

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], biases: dict[int, float], context: int
    ) -> None:
        super().__init__(sampling, prompt, biases, context)
        self._sampling = sampling
        seed = secrets.randbits(64) if sampling.seed is None else sampling.seed % _SEEDS
        self._random = np.random.default_rng(seed)

    def choose(self, row: Row, among: Tokens | None = None) -> int | None:
        """A token of the row, shape (vocabulary,), or of these of its tokens, of which one alone is
        taken as it is; None where none has a finite logit."""
        if among is not None and len(among) == 1:
            return int(among[0])
        logits = row if among is None else row[among]
        best = int(logits.argmax()) if len(logits) else 0
        if not len(logits) or not np.isfinite(logits[best]):
            return None
        if not self.greedy:
            left, chances = remaining(self._sampling, logits)
            best = int(left[_draw(chances, self._random.random())])
        return best if among is None else int(among[best])

    def close(self) -> None:
        """Nothing is held that has to be given back."""


def remaining(sampling: Sampling, row: Row) -> tuple[Tokens, Floats]:
    """The tokens that truncation leaves of a row with a finite logit, and their probabilities.

    Both have one shape. They come in the order of the row where nothing had to be sorted.
    """
    tokens = _likeliest(row, sampling.top_k)
    logits = row[tokens].astype(np.float64)
    if sampling.typical_p < 1:
        kept = _typical(logits, sampling.typical_p)
        tokens, logits = tokens[kept], logits[kept]
    if sampling.top_p < 1:
        kept = _nucleus(logits, sampling.top_p)
        tokens, logits = tokens[kept], logits[kept]
    if sampling.min_p > 0:
        kept = np.flatnonzero(logits >= logits.max() + np.log(sampling.min_p))
        tokens, logits = tokens[kept], logits[kept]
    return tokens, _softmax(logits / sampling.temperature)


def _likeliest(row: Row, count: int) -> Tokens:
    """The `count` likeliest tokens, or all; none that is forbidden."""
    if 0 < count < len(row):
        likely = np.argpartition(row, -count)[-count:]
        return likely[np.isfinite(row[likely])]
    return np.flatnonzero(np.isfinite(row))


def _typical(logits: Floats, most: float) -> Tokens:
    """Those whose surprise is nearest to the expected one, up to more than this probability."""
    chances = _softmax(logits)
    present = np.flatnonzero(chances)
    surprise = -np.log(chances[present])
    expected = float((chances[present] * surprise).sum())
    order = present[np.argsort(np.abs(surprise - expected), kind="stable")]
    return order[: int(np.searchsorted(np.cumsum(chances[order]), most, side="right")) + 1]


def _nucleus(logits: Floats, least: float) -> Tokens:
    """The fewest of the likeliest that together have at least this probability."""
    order = np.argsort(-logits, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(_softmax(logits[order])), least)) + 1]


def _softmax(logits: Floats) -> Floats:
    chances: Floats = np.exp(logits - logits.max())
    chances /= chances.sum()
    return chances


def _draw(chances: Floats, number: float) -> int:
    """The place in `chances` that a number from 0 to 1 falls on."""
    place = int(np.searchsorted(np.cumsum(chances), number, side="right"))
    return min(place, len(chances) - 1)
