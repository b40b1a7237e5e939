"""How long a step takes by the tokens in it, from the steps there were.

On a GPU sixteen tokens take hardly longer than one; on a CPU eight times as long, and the kernels
for eight tokens may be slower than those for six. What was measured counts, not what is usual.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque

_USUAL = ((1, 1.0), (2, 1.8), (3, 2.5), (4, 2.9), (6, 4.0), (7, 4.6), (8, 6.7), (16, 8.6))
"""Relative costs of steps with so many tokens, as measured on two cores for a model of 1.5 B
parameters with 4 bits; more tokens cost in proportion."""
_KEPT = 5
_STALE = 600
"""Steps after which a duration says nothing any more: other programs and longer contexts change
it, and one that was slow once must be tried again."""


class StepCost:
    """Durations are in seconds. Of the last few with the same number of tokens the shortest counts,
    as anything may come between, but nothing makes a step shorter."""

    def __init__(self) -> None:
        self._seen: dict[int, deque[float]] = {}
        self._last: dict[int, int] = {}
        self._sizes: list[int] = []
        self._steps = 0

    def observe(self, tokens: int, seconds: float) -> None:
        """A step over so many tokens, one row of logits each, took so long."""
        self._steps += 1
        if tokens not in self._seen:
            self._forget()
            self._seen[tokens] = deque(maxlen=_KEPT)
            insort(self._sizes, tokens)
        elif not self._steps % _STALE:
            self._forget()
        self._seen[tokens].append(seconds)
        self._last[tokens] = self._steps

    def _forget(self) -> None:
        self._sizes = [t for t in self._sizes if self._steps - self._last[t] <= _STALE]
        self._seen = {t: self._seen[t] for t in self._sizes}

    def __call__(self, tokens: int) -> float:
        """What a step over so many tokens will take; only ratios count until one was measured.

        Between measured sizes the cost is between theirs; beyond them it grows as it usually does.
        """
        sizes = self._sizes
        if not sizes:
            return _usual(tokens)
        below, above = bisect_right(sizes, tokens) - 1, bisect_left(sizes, tokens)
        if below < 0 or above == len(sizes):
            nearest = sizes[max(below, 0)]
            return min(self._seen[nearest]) * _usual(tokens) / _usual(nearest)
        low, high = sizes[below], sizes[above]
        if low == high:
            return min(self._seen[low])
        first, last = min(self._seen[low]), min(self._seen[high])
        part = (_usual(tokens) - _usual(low)) / (_usual(high) - _usual(low))
        return first + (last - first) * part


def _usual(tokens: int) -> float:
    largest, most = _USUAL[-1]
    if tokens >= largest:
        return most * tokens / largest
    above = bisect_left(_USUAL, (tokens, 0.0))
    (high, last), (low, first) = _USUAL[above], _USUAL[max(above - 1, 0)]
    return last if high == tokens else first + (last - first) * (tokens - low) / (high - low)
