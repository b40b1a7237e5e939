"""One choice that is being written: its tokens, how many of them a slot holds, and its limits."""

from collections.abc import Sequence as Tokens

from hubserve_engine.lookup import Lookup
from hubserve_engine.transcript import Transcript
from hubserve_engine.types import FinishReason, Sampler


class Sequence:
    """The scheduler reads and moves it; the loop adds tokens.

    `tokens` are prompt and answer; the first `cached` of them are in the slot. `leader` is the
    choice of the same request whose prompt this one copies once it is read. `limit` is the length
    in tokens at which it is cut off. With `reuse`, kept prefixes may serve it. `reused` is how much
    of it was there when it began, None before that.
    """

    def __init__(
        self,
        prompt: Tokens[int],
        *,
        arrival: int,
        sampler: Sampler,
        transcript: Transcript,
        limit: int,
        leader: "Sequence | None" = None,
        reuse: bool = True,
    ) -> None:
        self.tokens = list(prompt)
        self.prompt_length = len(prompt)
        self.arrival = arrival
        self.sampler = sampler
        self.transcript = transcript
        self.limit = limit
        self.leader = leader
        self.reuse = reuse
        self.slot: int | None = None
        self.cached = 0
        self.reused: int | None = None
        self.lookup = Lookup(self.tokens)
        self.finish_reason: FinishReason | None = None

    @property
    def uncached(self) -> int:
        """Tokens that the next steps must read before one can be sampled; 1 while it writes."""
        return len(self.tokens) - self.cached

    @property
    def started(self) -> bool:
        """Whether it has written anything."""
        return len(self.tokens) > self.prompt_length

    def attach(self, slot: int) -> None:
        """It runs in `slot` now."""
        self.slot = slot

    def hold(self, cached: int) -> None:
        """Its slot holds its first `cached` tokens, taken from another."""
        self.cached = cached
        if self.reused is None:
            # What it finds when it comes back after a preemption is not the client's affair.
            self.reused = cached

    def release(self) -> None:
        """It has no slot any more."""
        self.slot = None
        self.cached = 0

    def next_tokens(self, count: int) -> list[int]:
        return self.tokens[self.cached : self.cached + count]
