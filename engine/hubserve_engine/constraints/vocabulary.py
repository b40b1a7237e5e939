"""A model's tokens as llguidance wants them: bytes, and a way to cut forced text into tokens."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from hubserve_engine.backends.base import Backend
from hubserve_engine.constraints.digits import Digits
from hubserve_engine.constraints.library import Tokenizer

_MARKER = "\x02"
_open = re.compile(
    rb'".|\\(u[0-9a-fA-F]{0,3})?$|[\xc0-\xff]$|[\xe0-\xff][\x80-\xbf]$|[\xf0-\xff][\x80-\xbf]{2}$',
    re.DOTALL,
).search


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What grammars are told of one. `cut` cuts UTF-8 into tokens; `open` has a bit for each token
    that goes on after a quote, or ends within an escape or a character."""

    tokenizer: Tokenizer
    digits: Digits
    cut: Callable[[bytes], list[int]]
    open: int


def vocabulary(backend: Backend, shown: Collection[int]) -> Vocabulary:
    """`shown` are control tokens whose text is read, such as thinking tags. To a grammar they are
    their text, as they are to whoever reads the answer; other control tokens are never text.

    About a second for 150,000 tokens, and 60 MB.
    """
    tokens = _Tokens(backend, frozenset(shown) - backend.end_tokens)
    read = Tokenizer(
        tokens.tokens,
        special=tokens.special,
        ends=sorted(backend.end_tokens),
        tokenize=tokens.cut,
    )
    open = bytearray(len(tokens.tokens) // 8 + 1)
    for token, piece in enumerate(tokens.tokens):
        if _open(piece):
            open[token // 8] |= 1 << token % 8
    bits = int.from_bytes(open, "little")
    return Vocabulary(read, Digits(tokens.tokens), tokens.cut, bits)


class _Tokens:
    """The bytes of each token, and which are `special`."""

    def __init__(self, backend: Backend, shown: frozenset[int]) -> None:
        self._backend = backend
        self._shown = {backend.piece(token, special=True): token for token in shown}
        self._split = re.compile(b"(" + b"|".join(map(re.escape, self._shown)) + b")").split
        self.tokens: list[bytes] = []
        self.special: set[int] = set()
        for token in range(backend.loaded.vocabulary):
            piece = backend.piece(token)
            if not piece or token in backend.end_tokens:
                piece = backend.piece(token, special=True)
                if token not in shown:
                    self.special.add(token)
            self.tokens.append(piece)

    def cut(self, text: bytes) -> list[int]:
        found: list[int] = []
        for part in self._split(text) if self._shown else [text]:
            if part in self._shown:
                found.append(self._shown[part])
            elif part:
                found += self._tokenize(part)
        return found

    def _tokenize(self, text: bytes) -> list[int]:
        """The tokens of exactly this text, also where a tokenizer puts a space before any."""
        found = self._plain(text.decode("utf-8", "replace"))
        if self._text(found) == text:
            return found
        marked = self._plain(_MARKER + text.decode("utf-8", "replace"))
        for start, size in enumerate(accumulate(len(self.tokens[t]) for t in reversed(marked)), 1):
            if size == len(text) and self._text(marked[-start:]) == text:
                return marked[-start:]
        return self._greedy(text)

    def _plain(self, text: str) -> list[int]:
        return self._backend.tokenize(text, add_special=False, parse_special=False)

    def _text(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self.tokens[token] for token in tokens)

    @cached_property
    def _by_piece(self) -> dict[bytes, int]:
        return {piece: t for t, piece in enumerate(self.tokens) if piece and t not in self.special}

    def _greedy(self, text: bytes) -> list[int]:
        """The longest token at each place."""
        found: list[int] = []
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self._backend.longest_piece), start, -1)
            end = next((end for end in ends if text[start:end] in self._by_piece), None)
            if end is None:
                break
            found.append(self._by_piece[text[start:end]])
            start = end
        return found
