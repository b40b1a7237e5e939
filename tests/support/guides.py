"""Guides that need no grammar."""

from collections.abc import Callable, Sequence

import numpy as np

Rule = Callable[[tuple[int, ...]], Sequence[int] | None]
"""What was accepted -> the tokens that may come next, None for all."""


def packed(tokens: Sequence[int], vocabulary: int) -> bytes:
    """The mask that allows these tokens."""
    bits = np.zeros((vocabulary + 31) // 32 * 32, np.uint8)
    bits[list(tokens)] = 1
    return np.packbits(bits, bitorder="little").tobytes()


class RuleGuide:
    """Follows a rule; what it has accepted is in `accepted`."""

    closed = False
    error: str | None = None

    def __init__(self, vocabulary: int, rule: Rule) -> None:
        self._vocabulary = vocabulary
        self._rule = rule
        self.accepted: list[int] = []

    def mask(self) -> bytes | None:
        allowed = self._rule(tuple(self.accepted))
        return None if allowed is None else packed(allowed, self._vocabulary)

    def accept(self, token: int) -> None:
        allowed = self._rule(tuple(self.accepted))
        assert allowed is None or token in allowed, f"{token} may not come"
        self.accepted.append(token)

    def forced(self) -> list[int]:
        found: list[int] = []
        while True:
            allowed = self._rule((*self.accepted, *found))
            if allowed is None or len(allowed) != 1:
                break
            found.extend(allowed)
        return found

    def fitting(self, tokens: Sequence[int]) -> int:
        for count, token in enumerate(tokens):
            allowed = self._rule((*self.accepted, *tokens[:count]))
            if allowed is not None and token not in allowed:
                return count
        return len(tokens)

    @property
    def done(self) -> bool:
        allowed = self._rule(tuple(self.accepted))
        return allowed is not None and not allowed


def spelling(vocabulary: int, tokens: Sequence[int]) -> RuleGuide:
    """Lets nothing come but these tokens, one after the other."""
    return RuleGuide(vocabulary, lambda accepted: tuple(tokens[len(accepted) :][:1]))
