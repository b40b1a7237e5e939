"""Guesses from what a sequence already holds: where its end occurred before, what came next there.

Answers that repeat a part of their prompt, as edits of code do, or themselves, can so be verified
many tokens a step. Every guess is scored by what is written then, verified or not, so it is known
what the next one is worth, and to know it costs no step.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST = 3
LONGEST = 12
"""Matches are told apart up to this length (measured: above it nothing is gained)."""
_PORTION = 1024
"""Tokens that are taken into the index at a time, about a millisecond's work."""
_CANDIDATES = 32
"""Earlier places that are compared at most, the latest first."""
_BITS = 21
_MASK = (1 << _BITS * SHORTEST) - 1

_CLASSES = (0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3)
"""The class of a match by its length: 3 to 4, 5 to 7, 8 to 11, 12."""
_EXPECTED = (0.3, 0.5, 0.7, 0.85)
"""How often the token after a match of a class is right, before anything is known."""
_WEIGHT = 4.0
"""So many tokens seen weigh as much as what is expected."""
_MEMORY = 0.96
"""What is left of a token's weight when one more of its class has been seen."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Tokens that may come next, and for each how likely it is if all before it are right."""

    tokens: list[int]
    chances: list[float]

    def first(self, count: int) -> "Guess":
        return Guess(self.tokens[:count], self.chances[:count])


class Lookup:
    """The index of one sequence, which follows its `tokens` as they grow.

    Places that follow the same three tokens are chained, as in LZ77 compression: 12 bytes a token,
    and a few microseconds a step.
    """

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tokens
        self._indexed = 0
        self._rolling = 0
        self._heads = array("i")
        self._previous = array("i")
        self._source = 0  # where the last guess came from: the place after the match
        self._length = 0  # of that match, 0 where there was none
        self._at = 0  # how many tokens there were
        self._score = [_Score(chance) for chance in _EXPECTED]

    def guess(self, most: int) -> Guess | None:
        """What may come after the last token, at most `most` tokens.

        None where nothing matches, or while a long prompt is not wholly in the index yet.
        """
        self._observe()
        self._length = 0
        if not self._extend():
            return None
        tokens, end = self._tokens, len(self._tokens)
        source, length = self._longest()
        self._source, self._length, self._at = source, length, end
        if not length or most < 1:
            return None
        found = list(tokens[source : source + most])
        while len(found) < most:  # what is repeated already goes on being repeated
            found.append(found[source - end])
        return Guess(found, [self._chance(length + i) for i in range(most)])

    def _observe(self) -> None:
        """Score the last guess by the tokens that were written since."""
        if not self._length:
            return
        tokens = self._tokens
        for i in range(len(tokens) - self._at):
            right = tokens[self._at + i] == tokens[self._source + i]
            self._score[_CLASSES[min(self._length + i, LONGEST)]].count(right)
            if not right:
                return

    def _chance(self, length: int) -> float:
        return self._score[_CLASSES[min(length, LONGEST)]].chance

    def _extend(self) -> bool:
        """Take a portion of what is new into the index; whether that was all."""
        tokens = self._tokens
        if not self._heads:
            size = 2 * max(len(tokens), 1000) + 1
            self._heads = array("i", bytes(4 * size))
        heads, previous, size = self._heads, self._previous, len(self._heads)
        begin = self._indexed
        end = min(len(tokens), begin + _PORTION)
        rolling = self._rolling
        for place in range(begin, end):
            rolling = (rolling << _BITS | tokens[place]) & _MASK
            bucket = rolling % size
            previous.append(heads[bucket])
            heads[bucket] = place + 1
        self._rolling, self._indexed = rolling, end
        return end == len(tokens)

    def _longest(self) -> tuple[int, int]:
        """The place after the longest earlier match of the last tokens, and its length; 0 if none.

        Of equally long ones the latest. One that goes on where the last guess came from is taken if
        it is as long as can be told apart: the text there is being copied.
        """
        tokens, end = self._tokens, len(self._tokens)
        if end <= SHORTEST:
            return 0, 0
        going_on = self._source + end - self._at
        if SHORTEST < going_on < end and self._matching(going_on, LONGEST) == LONGEST:
            return going_on, LONGEST
        best, longest = 0, SHORTEST - 1
        previous, place = self._previous, self._previous[end - 1]
        for _ in range(_CANDIDATES):
            # Places are counted from 1, so that 0 ends a chain: `place` is also what comes after.
            if place <= longest:
                break
            # It can only be longer than the best if it is right where that one ended.
            if tokens[place - 1 - longest] == tokens[end - 1 - longest]:
                length = self._matching(place, LONGEST)
                if length > longest:
                    best, longest = place, length
                    if length == LONGEST:
                        break
            place = previous[place - 1]
        return (best, longest) if best else (0, 0)

    def _matching(self, place: int, most: int) -> int:
        """How many tokens before `place` are the last ones of the sequence, at most `most`."""
        tokens, end = self._tokens, len(self._tokens)
        most = min(most, place)
        length = 0
        while length < most and tokens[place - 1 - length] == tokens[end - 1 - length]:
            length += 1
        return length


class _Score:
    """How often a guess of one class was right, the latest counting most."""

    def __init__(self, expected: float) -> None:
        self._right = expected * _WEIGHT
        self._all = _WEIGHT

    @property
    def chance(self) -> float:
        return self._right / self._all

    def count(self, right: bool) -> None:
        self._right = self._right * _MEMORY + right
        self._all = self._all * _MEMORY + 1
