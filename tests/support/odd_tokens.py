"""A vocabulary whose tokens end where it hurts most, and answers that wander through it."""

import random
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from hubserve_engine.backends.base import Backend
from hubserve_engine.choosing import Guide

_ODD = (
    "</think>\n\n{",
    "k>{",
    "nk>\n",
    "</",
    "think",
    "\n\n",
    '{"',
    '": "',
    '", "',
    '"}',
    "}\n",
    "}}\n</tool_call>",
    "<tool",
    "_call>\n{",
    "yes",
    "no",
    "true",
    "final<|mess",
    "é",
    "東京",
    " a",
    "12",
    ", ",
)
_CONTROL = (
    "<think>",
    "</think>",
    "<|im_end|>",
    "<tool_call>",
    "<|channel|>",
    "<|message|>",
    '<|"|>',
    "<escape>",
    "]<]minimax[>[",
)
_END = 256 + len(_ODD) + _CONTROL.index("<|im_end|>")
SHOWN = frozenset(range(256 + len(_ODD), 256 + len(_ODD) + len(_CONTROL))) - {_END}


class OddTokens:
    """As much of a backend as grammars need: all bytes, odd pieces, and control tokens."""

    end_tokens = frozenset((_END,))
    longest_piece = max(len(piece.encode()) for piece in (*_ODD, *_CONTROL))

    def __init__(self) -> None:
        self._pieces = [bytes((n,)) for n in range(256)]
        self._pieces += [piece.encode() for piece in (*_ODD, *_CONTROL)]
        self.loaded = type("Loaded", (), {"vocabulary": len(self._pieces)})

    @cached_property
    def backend(self) -> Backend:
        return cast(Backend, self)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        if token >= 256 + len(_ODD) and not special:
            return b""
        return self._pieces[token]

    def text(self, tokens: Sequence[int]) -> bytes:
        """As a transcript shows it."""
        return b"".join(self.piece(token, special=token in SHOWN) for token in tokens)

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """The longest piece at each place."""
        data, found = text.encode("utf-8", "replace"), list[int]()
        pieces = self._pieces if parse_special else self._pieces[: 256 + len(_ODD)]
        while data:
            token = max(
                (t for t, piece in enumerate(pieces) if data.startswith(piece)),
                key=lambda t: len(pieces[t]),
            )
            found.append(token)
            data = data[len(pieces[token]) :]
        return found


def allowed(guide: Guide) -> list[int]:
    mask = guide.mask()
    assert mask is not None
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
    return [int(token) for token in bits.nonzero()[0]]


def wander(
    guide: Guide,
    numbers: random.Random,
    *,
    most: int = 400,
    likes: Callable[[int], float] = lambda _token: 1.0,
    forced: bool = True,
) -> tuple[list[int], bool]:
    """What a model writes that knows nothing, and whether it came to an end."""
    written: list[int] = []
    while len(written) < most:
        if guide.done:
            return written, True
        tokens = guide.forced() if forced and written else []
        if not tokens:
            options = allowed(guide)
            assert options, guide.error
            tokens = numbers.choices(options, [likes(token) for token in options])
        for token in tokens:
            if token == _END:
                guide.accept(token)
                return written, True
            guide.accept(token)
            assert guide.error is None, guide.error
            written.append(token)
    return written, False


def plain(token: int) -> float:
    """Likes what closes, so that it comes to an end, and no bytes of half characters."""
    if token >= 256:
        return 3.0 if token != _END else 30.0
    if token in b'"}]':
        return 12.0
    return 1.0 if 32 <= token < 127 else 0.02
