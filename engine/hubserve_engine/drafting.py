"""Which guesses a step verifies: as many as give the most tokens a second, often none."""

from collections.abc import Sequence as Series

from hubserve_engine.backends.base import Capabilities
from hubserve_engine.lookup import Guess
from hubserve_engine.sequence import Sequence
from hubserve_engine.step_cost import StepCost

_LENGTHS = frozenset((1, 2, 3, 6, 10, 15, 31))
"""Few different ones, so that what each costs is soon known."""
_WORTH = 1.05
"""A step with guesses must promise so much more than one without."""
_HOPELESS = 0.02
"""Guesses are looked at no further where all so far are right with less than this probability."""


class Drafter:
    """For steps in which sequences write and no prompt is read.

    `most` are the guesses for one sequence in a step. With 0 nothing is computed.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self._max_rows = min(capabilities.max_rows, capabilities.max_batch)
        self.most = min(self._max_rows - capabilities.parallel, capabilities.rollback)
        self.cost = StepCost()

    def choose(self, sequences: Series[Sequence]) -> list[list[int]]:
        """The guesses for each sequence, without those that its limit would cut off."""
        if self.most < 1:
            return [[] for _ in sequences]
        rows = len(sequences)
        expected = float(rows)
        chosen = []
        for sequence in sequences:
            left = sequence.limit - len(sequence.tokens) - 1
            guess = sequence.lookup.guess(min(self.most, left))
            if guess is not None and sequence.guide is not None:
                guess = guess.first(sequence.guide.fitting(guess.tokens))
            count, gain = 0, 0.0
            if guess is not None:
                count, gain = self._best(guess, rows, expected)
            chosen.append(guess.tokens[:count] if guess is not None else [])
            rows += count
            expected += gain
        return chosen

    def _best(self, guess: Guess, rows: int, expected: float) -> tuple[int, float]:
        """How many of the guesses to add to a step over `rows` tokens that is expected to write
        `expected` ones, and how many more it then writes."""
        best, most = (0, 0.0), _WORTH * expected / self.cost(rows)
        gain, chance = 0.0, 1.0
        longest = min(len(guess.tokens), self._max_rows - rows)
        for count in range(1, longest + 1):
            chance *= guess.chances[count - 1]
            if chance < _HOPELESS:
                break
            gain += chance
            if count in _LENGTHS or count == longest:
                rate = (expected + gain) / self.cost(rows + count)
                if rate > most:
                    best, most = (count, gain), rate
        return best
