"""Which tokens made the content, and where in it their text lies.

A token's text may come out late, on either channel or not at all (tags), so it is followed from the
characters that go into the splitter to those of the content.
"""

from collections import deque
from dataclasses import dataclass, replace

from hubserve_engine.channels import Segment
from hubserve_engine.types import TokenLogprob


@dataclass(slots=True)
class _Span:
    """Where a token's text lies: `start` to `end` in what was generated, `first` to `last` in the
    content, None as long as none of it is there. A `torn` token also began the next character."""

    start: int
    end: int
    logprob: TokenLogprob
    torn: bool
    first: int | None = None
    last: int = 0


class TokenSpans:
    """The tokens of one sequence, from `add` over `place` to `take`; positions count characters."""

    def __init__(self) -> None:
        self._fed = 0
        self._known = 0
        self._written = 0
        self._open: deque[_Span] = deque()
        self._placed: deque[_Span] = deque()

    def add(self, characters: int, logprob: TokenLogprob | None, *, torn: bool = False) -> None:
        """A token completed so many characters, and if `torn` began another.

        A character belongs to each token that has bytes of it, and a token that completed none and
        began none, such as an empty one, to the text that follows.
        """
        start, self._fed = self._fed, self._fed + characters
        for span in reversed(self._open):
            if span.torn and characters:
                span.end, span.torn = start + 1, False
            elif span.end == span.start:
                span.end = self._fed
            elif not span.torn:
                break
        if logprob is not None:
            self._open.append(_Span(start, self._fed, logprob, torn))

    def place(self, segments: list[Segment], held: int, *, at_end: bool = False) -> None:
        """The splitter made `segments` of what came in, and holds the last `held` characters back.

        What it dropped, tags and newlines beside them, stood before the content that follows it.
        """
        before, self._known = self._known, self._fed - held
        length = sum(len(text) for channel, text in segments if channel == "content")
        ends_it = bool(segments) and segments[-1][0] == "content"
        low = self._known - length if ends_it else before
        for span in self._open:
            if length and span.start < low + length and span.end > low:
                if span.first is None:
                    span.first = self._written + max(span.start - low, 0)
                span.last = self._written + min(span.end - low, length)
        self._written += length
        while self._open and (at_end or self._is_known(self._open[0])):
            span = self._open.popleft()
            if span.first is not None:
                self._placed.append(span)

    def _is_known(self, span: _Span) -> bool:
        """Whether all of its text has come out of the splitter, if it has any."""
        return span.start < span.end <= self._known and not span.torn

    def take(self, sent: int, *, at_end: bool) -> tuple[TokenLogprob, ...]:
        """Those whose text was sent, with the first `sent` characters of the content; `at_end` also
        one whose text was cut off in its middle."""
        ready = []
        while self._placed and (at_end or self._placed[0].last <= sent):
            span = self._placed.popleft()
            assert span.first is not None
            if span.last <= sent or span.first < sent:
                ready.append(replace(span.logprob, offset=span.first))
        return tuple(ready)
