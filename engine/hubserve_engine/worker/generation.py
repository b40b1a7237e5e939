"""One request in the worker: its choices, and the account that it gives at its end."""

from hubserve_engine.sequence import Sequence
from hubserve_engine.types import Completed, Request, Timings, Usage


class Generation:
    """Times are in seconds, as the loop reads its clock."""

    def __init__(self, id: int, request: Request, choices: list[Sequence]) -> None:
        self.id = id
        self.request = request
        self.choices = choices
        self._began: float | None = None
        self._first: float | None = None
        self._last = 0.0
        self._guessed = 0
        self._right = 0

    def began(self, now: float) -> None:
        """A choice got its slot. Waiting before the first one is no part of the timings."""
        if self._began is None:
            self._began = now

    def sampled(self, now: float) -> None:
        """A choice got a token."""
        if self._first is None:
            self._first = now
        self._last = now

    def guessed(self, tokens: int, right: int) -> None:
        """So many tokens of a choice were guessed, and the first `right` of them were written."""
        self._guessed += tokens
        self._right += right

    @property
    def done(self) -> bool:
        return all(c.finish_reason is not None for c in self.choices)

    def completed(self) -> Completed:
        """Usage and timings; the prompt counts once, and so does what was reused of it."""
        first = self.choices[0]
        cached = first.reused or 0
        written = sum(c.transcript.completion_tokens for c in self.choices)
        thought = sum(c.transcript.reasoning_tokens for c in self.choices)
        began = self._began or 0.0
        middle = self._first or began
        return Completed(
            Usage(first.prompt_length, cached, written, thought),
            Timings(
                cache_n=cached,
                prompt_n=first.prompt_length - cached,
                prompt_ms=(middle - began) * 1000,
                predicted_n=written,
                predicted_ms=max(self._last - middle, 0.0) * 1000,
                draft_n=self._guessed,
                draft_n_accepted=self._right,
                cache_tier=first.tier,
            ),
        )
