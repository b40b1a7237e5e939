"""Numbers that come to an end.

To JSON a number may have any digits. Models at high temperatures, and small ones, write one for as
long as they are let, and the call that it stands in is cut off.
"""

from collections.abc import Iterable

from hubserve_engine.choosing import without

MOST = 100
"""Digits in a row. A double has 17 that count; an integer of 256 bits has 78."""
_QUOTE = b'"'


class Digits:
    """Which tokens of a vocabulary are digits alone. What it says of a row holds for JSON, and for
    what models write between tags."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        self._sizes: dict[int, int] = {}
        self._bits = 0
        self._quote = 0
        for token, piece in enumerate(tokens):
            if piece.isdigit():  # of bytes: 0 to 9
                self._sizes[token] = len(piece)
                self._bits |= 1 << token
            elif piece == _QUOTE:
                self._quote = 1 << token

    def row(self, before: int, token: int) -> int:
        """How many digits in a row there are, with a token after so many."""
        size = self._sizes.get(token, 0)
        return before + size if size else 0

    def without(self, mask: bytes) -> bytes:
        """A mask without digits, where it is a number that they would go on, and may end here.

        In a string the quote may come that ends it, or nothing but a digit.
        """
        if not self._quote or int.from_bytes(mask, "little") & self._quote:
            return mask
        return without(mask, self._bits)
