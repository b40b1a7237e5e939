"""One sequence's state, which grows, is cut back, and is copied."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import Cache

from hubserve_engine.backends.transformers import cache as caches
from hubserve_engine.backends.transformers.cache import Recurrent
from hubserve_engine.marks import lasting


class Forward(Protocol):
    """Appends tokens to a cache; the logits after the last `rows` of them."""

    def __call__(self, tokens: Sequence[int], cache: Cache, rows: int) -> torch.Tensor: ...


@dataclass(frozen=True, slots=True)
class Point:
    """A length to which a slot can be cut back, and what was recurrent there."""

    length: int
    states: Recurrent


class Slot:
    """Holds `length` tokens. With `rollback` None it has all of its past; one that is recurrent can
    be cut back to its marks, and by so many tokens of its last step: those of it that remain are
    read again."""

    def __init__(
        self, empty: Callable[[], Cache], forward: Forward, *, rollback: int | None
    ) -> None:
        self._empty = empty
        self._forward = forward
        self._rollback = rollback
        self._cache = empty()
        self._read = 0
        self._unread: list[int] = []
        self._marks: dict[int, Point] = {}
        self._before: Point | None = None
        self._last: list[int] = []

    @property
    def length(self) -> int:
        return self._read + len(self._unread)

    @property
    def cache(self) -> Cache:
        """The state of all `length` tokens."""
        self._settle()
        return self._cache

    def append(self, tokens: Sequence[int], rows: int) -> torch.Tensor:
        """Reads tokens; the logits after the last `rows` of them, which may still be computed. If
        that fails, nothing has changed."""
        self._settle()
        before = self._point()
        logits = self._run(tokens, rows, before)
        self._before, self._last = before, list(tokens)
        return logits

    def undo(self) -> None:
        """Take the last `append` back."""
        assert self._before is not None
        self._return(self._before)
        self._before = None

    def truncate(self, length: int) -> bool:
        """Cut it back. False: it has no past there, and nothing has changed."""
        if length == self.length:
            return True
        if self._rollback is None or not length:
            self._return(Point(length, ()))
        elif mark := self._marks.get(length):
            self._return(mark)
        elif not self._roll_back(length):
            return False
        self._before = None
        self._marks = {at: mark for at, mark in self._marks.items() if at <= length}
        return True

    def _roll_back(self, length: int) -> bool:
        before = self._before
        most = self._rollback or 0
        if before is None or length <= before.length or self.length - length > most:
            return False
        self._return(before)
        self._unread = self._last[: length - before.length]
        return True

    def mark(self) -> bool:
        """Let it, and copies of it, be cut back to where it is now. False: it is empty."""
        self._settle()
        if not self._read:
            return False
        marks = {**self._marks, self._read: self._point()}
        self._marks = {at: marks[at] for at in lasting(marks)}
        return True

    def fork(self) -> "Slot":
        """A copy, which shares what it can."""
        self._settle()
        other = Slot(self._empty, self._forward, rollback=self._rollback)
        other.hold(caches.twin(self._cache), self._read)
        other._marks = self._marks
        return other

    def hold(self, cache: Cache, length: int) -> None:
        """Have this state, which is its own from now on."""
        self._cache, self._read = cache, length

    def _settle(self) -> None:
        if self._unread:
            self._run(self._unread, 1, self._point())
            self._unread = []

    def _run(self, tokens: Sequence[int], rows: int, before: Point) -> torch.Tensor:
        try:
            logits = self._forward(tokens, self._cache, rows)
        except BaseException:
            self._return(before)
            raise
        self._read += len(tokens)
        return logits

    def _point(self) -> Point:
        return Point(self._read, () if self._rollback is None else caches.recurrent(self._cache))

    def _return(self, point: Point) -> None:
        if point.length:
            caches.cut(self._cache, point.length, point.states)
        else:
            self._cache = self._empty()
        self._read = point.length
        self._unread = []
