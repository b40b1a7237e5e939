"""One choice that is being written: its tokens, how many of them a slot holds, and its limits."""

from bisect import insort
from collections.abc import Iterable
from collections.abc import Sequence as Series

import numpy as np

from hubserve_engine.choosing import Guide, Sampler
from hubserve_engine.lookup import Lookup
from hubserve_engine.marks import lasting
from hubserve_engine.radix_tree import Tokens
from hubserve_engine.transcript import Transcript
from hubserve_engine.types import CacheTier, FinishReason


class Sequence:
    """The scheduler reads and moves it; the loop adds tokens.

    `tokens` are prompt and answer; the first `cached` of them are in the slot. `limit` is the
    length in tokens at which it is cut off. With `reuse`, prefixes of others may serve it, and its
    own may serve them. `reused` is how much was there when it began, None before that, and `tier`
    where. `pauses` are the lengths at which the reading of its prompt is to halt for a moment, in
    order; `marks` those to which its slot can be cut back though its state has no past, and
    `floor` the least other one. The last `forced` tokens had to follow the one before them.
    """

    def __init__(
        self,
        prompt: Series[int],
        *,
        arrival: int,
        sampler: Sampler,
        transcript: Transcript,
        limit: int,
        guide: Guide | None = None,
        reuse: bool = True,
        pauses: Iterable[int] = (),
    ) -> None:
        self.tokens = list(prompt)
        self.prompt_length = len(prompt)
        self.arrival = arrival
        self.sampler = sampler
        self.transcript = transcript
        self.limit = limit
        self.guide = guide
        self.forced = 0
        self.reuse = reuse
        self.pauses = sorted(set(pauses))
        self.marks: tuple[int, ...] = ()
        self.floor = 0
        self.slot: int | None = None
        self.family: object = None
        self.cached = 0
        self.reused: int | None = None
        self.lookup = Lookup(self.tokens)
        self.tier: CacheTier | None = None
        self.finish_reason: FinishReason | None = None
        self._array: Tokens | None = None

    @property
    def uncached(self) -> int:
        """Tokens that the next steps must read before one can be sampled."""
        return len(self.tokens) - self.cached

    @property
    def writes(self) -> bool:
        """Whether all that is left to read is what it wrote in the last step."""
        return self.uncached <= 1 + self.forced

    @property
    def array(self) -> Tokens:
        """`tokens`, shape (n,); made anew only if there are more than the last time."""
        if self._array is None or len(self._array) != len(self.tokens):
            self._array = np.array(self.tokens, np.int32)
        return self._array

    def attach(self, slot: int, *, family: object) -> None:
        """It runs in `slot` now, and shares memory with others of its `family`."""
        self.slot = slot
        self.family = family

    def hold(
        self,
        cached: int,
        tier: CacheTier | None = None,
        marks: Series[int] = (),
        floor: int = 0,
    ) -> None:
        """Its slot holds its first `cached` tokens, taken from another in that tier."""
        self.cached = cached
        if not cached:
            self.family = object()  # it shares memory with nobody
        self.marks = tuple(mark for mark in marks if mark <= cached)
        self.floor = floor
        if self.reused is None:
            # What it finds when it comes back after a preemption is not the client's affair.
            self.reused = cached
            self.tier = tier if cached else None

    def pause_at(self, length: int) -> None:
        """Let its reading halt there, if it has not got that far."""
        if length > self.cached and length not in self.pauses:
            insort(self.pauses, length)

    def mark(self) -> None:
        """Its slot can be cut back to what it holds now."""
        if self.cached not in self.marks:
            self.marks = tuple(lasting((*self.marks, self.cached)))

    def release(self) -> None:
        """It has no slot any more."""
        self.slot = None
        self.cached = 0
        self.marks = ()
        self.floor = 0

    def next_tokens(self, count: int) -> list[int]:
        return self.tokens[self.cached : self.cached + count]
