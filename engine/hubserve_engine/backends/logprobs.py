"""Log probabilities of the chosen token and its likeliest alternatives, from a row of logits."""

from typing import Protocol

import numpy as np

from hubserve_engine.backends.masks import Row
from hubserve_engine.types import TokenLogprob, TokenProbability


class Pieces(Protocol):
    def __call__(self, token: int, *, special: bool = False) -> bytes: ...


def token_logprob(row: Row, chosen: int, alternatives: int, piece: Pieces) -> TokenLogprob:
    """`row` has shape (vocabulary,); the log-softmax is taken in 64 bits over the whole of it."""
    wide = row.astype(np.float64)
    wide -= wide.max()
    wide -= np.log(np.exp(wide).sum())

    def probability(token: int) -> TokenProbability:
        return TokenProbability(token, piece(token, special=True), float(wide[token]))

    top: list[int] = []
    count = min(alternatives, len(wide))
    if count:
        best = np.argpartition(row, -count)[-count:]
        # Of equal ones the lower number first, as greedy sampling has it.
        top = [int(t) for t in best[np.lexsort((best, -row[best]))]]
    return TokenLogprob(probability(chosen), tuple(probability(t) for t in top))
