"""Prefixes that finished sequences leave in their slots, for the next turn of a conversation.

A slot is empty, taken by a running sequence, or kept: its tokens are known and may be the beginning
of a coming prompt. Taking a kept slot gives its common prefix away; a state that cannot be cut back
(`truncate` false) is of use only if all of it is wanted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Found:
    """A slot whose first `length` tokens hold, once `source`, if there is one, is copied to it."""

    slot: int
    length: int
    source: int | None = None


class PrefixCache:
    """The slots that are not taken. Kept ones are in the order of their last use, oldest first."""

    def __init__(self, slots: Iterable[int], *, truncate: bool) -> None:
        self._truncate = truncate
        self._empty = list(slots)
        self._kept: dict[int, _Tokens] = {}

    def keep(self, slot: int, tokens: Sequence[int]) -> None:
        """Put a slot back with what it holds."""
        self._kept[slot] = np.array(tokens, np.int32)

    def free(self, slot: int) -> None:
        """Put a slot back that is empty or is to be emptied."""
        self._empty.append(slot)

    def take_any(self) -> int | None:
        """An empty slot, else the one that was kept longest."""
        if self._empty:
            return self._empty.pop()
        slot = next(iter(self._kept), None)
        if slot is not None:
            del self._kept[slot]
        return slot

    def take_best(self, tokens: Sequence[int], limit: int) -> Found | None:
        """The slot to use for `tokens`, of which at most the first `limit` may be taken as read.

        A kept prefix of which a part is wanted is copied, not cut, while a slot is empty. Then only
        one that loses less than half is cut, as in the next turn of its own conversation; for a
        stranger, who may share no more than a system prompt, the oldest other one goes. But the
        same prompt again always takes its own place: llama.cpp's numbers depend a little on where
        in memory a sequence lies, and the same request is to give the same text.
        """
        if not self._empty and not self._kept:
            return None
        wanted = np.array(tokens[:limit], np.int32)
        best, length = None, 0
        for slot, kept in self._kept.items():
            common = _common(kept, wanted)
            usable = self._truncate or common == len(kept)
            if usable and common > length:
                best, length = slot, common
        if best is None:
            slot_or_none = self.take_any()
            return None if slot_or_none is None else Found(slot_or_none, 0)
        kept = self._kept.pop(best)
        part = (self._empty and length < len(kept)) or 2 * length < len(kept)
        if part and length < limit:
            target = self.take_any()
            if target is not None:
                self._kept[best] = kept
                return Found(target, length, source=best)
        return Found(best, length)

    def evict(self) -> int | None:
        """Give up the oldest kept prefix; its slot counts as empty, and the caller empties it."""
        slot = next(iter(self._kept), None)
        if slot is None:
            return None
        del self._kept[slot]
        self._empty.append(slot)
        return slot


def _common(a: _Tokens, b: _Tokens) -> int:
    """The length of the common beginning."""
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n
