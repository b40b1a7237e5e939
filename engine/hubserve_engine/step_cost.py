"""How much longer a step takes the more tokens are in it, from the steps there were.

On a GPU sixteen tokens take hardly longer than one; on a CPU eight times as long, and the kernels
for eight tokens may be slower than those for six. What was measured counts, not what is usual.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from statistics import median

_USUAL = ((1, 1.0), (2, 1.8), (3, 2.5), (4, 2.9), (6, 4.0), (7, 4.6), (8, 6.7), (16, 8.6))
"""Steps with so many tokens, as measured on two cores for a model of 1.5 B parameters with 4 bits;
more tokens cost in proportion."""
_RECENT = 5
"""Steps without guesses that a step is compared with."""
_LEARNED = 0.3
"""So much of a difference is believed at a time, and none beyond a factor of two: other programs
disturb a step now and then."""
_STALE = 300
"""Steps after which a cost is what it usually is again: contexts get longer, and a size that was
slow once must be tried once more."""


class StepCost:
    """Costs are in units of a step with one token.

    Other programs make all steps slower for a while, so what counts is how long a step took beside
    those just before it in which nothing was guessed.
    """

    def __init__(self) -> None:
        self._units: deque[float] = deque(maxlen=_RECENT)
        self._costs: dict[int, float] = {}
        self._last: dict[int, int] = {}
        self._sizes: list[int] = []
        self._steps = 0

    def observe(self, tokens: int, seconds: float, *, guessed: bool) -> None:
        """A step over so many tokens, one row of logits each, took so long."""
        self._steps += 1
        if not self._steps % _STALE:
            self._forget()
        if self._units and tokens > 1:
            self._learn(tokens, seconds / median(self._units))
        if not guessed:
            self._units.append(seconds / self(tokens))

    def _learn(self, tokens: int, measured: float) -> None:
        known = self(tokens)
        if tokens not in self._costs:
            insort(self._sizes, tokens)
        factor = min(max(measured / known, 0.5), 2.0)
        self._costs[tokens] = known * factor**_LEARNED
        self._last[tokens] = self._steps

    def _forget(self) -> None:
        self._sizes = [t for t in self._sizes if self._steps - self._last[t] <= _STALE]
        self._costs = {t: self._costs[t] for t in self._sizes}

    def __call__(self, tokens: int) -> float:
        """What a step over so many tokens costs.

        Between sizes that are known it is between theirs; beyond them it grows as it usually does.
        """
        sizes = self._sizes
        above = bisect_left(sizes, tokens)
        if above < len(sizes) and sizes[above] == tokens:
            return self._costs[tokens]
        low = sizes[above - 1] if above else 1
        first = self._costs[low] if above else 1.0
        if tokens == low:
            return first
        if above == len(sizes):
            return first * _usual(tokens) / _usual(low)
        high = sizes[above]
        part = (_usual(tokens) - _usual(low)) / (_usual(high) - _usual(low))
        return first + (self._costs[high] - first) * part


def _usual(tokens: int) -> float:
    largest, most = _USUAL[-1]
    if tokens >= largest:
        return most * tokens / largest
    below = bisect_right(_USUAL, (tokens, most)) - 1
    (low, first), (high, last) = _USUAL[below], _USUAL[below + 1]
    return first + (last - first) * (tokens - low) / (high - low)
