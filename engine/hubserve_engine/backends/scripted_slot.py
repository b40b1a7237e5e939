"""A slot of the scripted backend: tokens, which can be saved, and cannot always be cut back."""

import struct
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

_HEAD = struct.Struct("<IIII")
"""What a saved state begins with: its kind, `Slot.first`, the number of tokens, a checksum."""


@dataclass(frozen=True, slots=True)
class Kind:
    """`recurrent` states cannot be cut back, but by the last `snapshots` tokens of a step. `window`
    is how many tokens of a slot a saved state has, as with sliding-window layers; 0 is all."""

    recurrent: bool
    window: int
    snapshots: int


@dataclass(slots=True)
class Slot:
    """A sequence's tokens, of which those before `first` were not in the state that was loaded.

    `last` of them came in the last step, none if they were copied or cut since. `marks` are lengths
    to which it can be cut back in any case."""

    kind: Kind
    tokens: list[int] = field(default_factory=list)
    first: int = 0
    last: int = 0
    marks: frozenset[int] = frozenset()

    def append(self, tokens: Sequence[int]) -> None:
        self.tokens.extend(tokens)
        self.last = len(tokens)

    def truncate(self, length: int) -> bool:
        assert length <= len(self.tokens), f"cut to {length} of {len(self.tokens)}"
        back = len(self.tokens) - length
        if self.kind.recurrent and back and length and length not in self.marks:
            if back > min(self.kind.snapshots, self.last - 1):
                return False
            self.last = 0
        if self.first and 0 < length < self.first + self.kind.window - 1:
            return False
        del self.tokens[length:]
        self.marks = frozenset(mark for mark in self.marks if mark <= length)
        if not self.tokens:
            self.first = 0
        return True

    def mark(self) -> None:
        self.marks |= {len(self.tokens)}

    def fork(self) -> "Slot":
        self.last = 0
        return Slot(self.kind, list(self.tokens), self.first, marks=self.marks)

    def size(self) -> int:
        return _HEAD.size + 4 * len(self.tokens) if self.tokens else 0

    def save(self) -> bytes:
        """Nothing of an empty one."""
        first = self.first
        if self.kind.window:
            first = max(first, len(self.tokens) - self.kind.window)
        return self._packed(first, self.tokens) if self.tokens else b""

    def save_part(self, first: int, last: int) -> bytes:
        """Nothing where a state can only be saved as it stands."""
        whole = self.kind.recurrent or self.kind.window
        return b"" if whole else self._packed(0, self.tokens[first:last])

    def _packed(self, first: int, tokens: Sequence[int]) -> bytes:
        body = array("i", tokens).tobytes()
        return _HEAD.pack(_mark(self.kind), first, len(tokens), zlib.crc32(body)) + body

    @classmethod
    def load(cls, kind: Kind, state: bytes) -> "Slot | None":
        """None for bytes that no slot of this kind has saved."""
        slot = cls(kind)
        while state:
            if len(state) < _HEAD.size:
                return None
            mark, first, count, checksum = _HEAD.unpack_from(state)
            body, state = state[_HEAD.size :][: 4 * count], state[_HEAD.size + 4 * count :]
            if mark != _mark(kind) or len(body) != 4 * count or zlib.crc32(body) != checksum:
                return None
            slot.first = first
            slot.tokens.extend(memoryview(body).cast("i"))
        return slot if slot.tokens else None


def _mark(kind: Kind) -> int:
    return zlib.crc32(f"{kind.recurrent} {kind.window}".encode())
