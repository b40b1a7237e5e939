"""How an answer that must be whole comes to its end where it may not go on.

Models write texts without end, small ones often. What the grammar still needs then is written for
them: the quote and the brackets that are open, and the least of what is missing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hubserve_engine.choosing import without
from hubserve_engine.constraints.library import Matcher
from hubserve_engine.constraints.vocabulary import Vocabulary
from hubserve_engine.tool_formats.layout import (
    JsonArguments,
    JsonBody,
    Layout,
    NestedArguments,
    TaggedArguments,
)

MOST = 256
"""Tokens that it may take to close an answer."""
SPARE_SHARE = 16
"""Of so many tokens one may be kept at most for what would have to be closed, too."""
_MOST_SECONDS = 0.5
"""To look for a way. Streams wait meanwhile, and it is looked for again and again: 256 steps into a
hostile schema could take minutes. Into others they take 4 to 20 ms."""
_QUOTE = '"'
_BRACKETS = ("}", "]")
_LEAST = (_QUOTE, "1")
"""Of values in JSON, where one must stand. No date has a zero for its year or month."""
_ANY = ("}", "x")
"""In JSON both may come in texts alone."""


Place = Literal["text", "value", "other", "forced"]
"""Within a text; where a value begins, or may end; where something else may come that has to be
closed; where all that comes is forced."""
_SPARE: dict[Place, int] = {"text": 0, "value": 2, "other": 16}
"""Tokens that are kept: what one more token of an answer may add to the way to its end."""


@dataclass(frozen=True, slots=True)
class Way:
    """Tokens with which an answer is whole, the end not among them; and where it stands."""

    tokens: list[int]
    place: Place


class Closer:
    """Finds ways. `ends` are the tokens that end an answer; `layout` is that of calls, if it is
    one."""

    def __init__(
        self, vocabulary: Vocabulary, ends: Sequence[int], layout: Layout | None = None
    ) -> None:
        def rows(*texts: str) -> list[list[int]]:
            return [vocabulary.cut(text.encode()) for text in dict.fromkeys(texts) if text]

        inner = _inner(layout) if layout else ()
        self._ends = sum(1 << token for token in ends)
        self._any = rows(*_ANY)
        self._quotes = rows(*inner, _QUOTE)
        self._ending = rows(*inner, *(_outer(layout) if layout else ()), *_BRACKETS)
        self._least = rows(*_LEAST)
        self.open = vocabulary.open

    def way(self, matcher: Matcher, until: float) -> Way | None:
        """None if no short one is found, or not `until` then. The matcher is left somewhere on
        it."""
        found: list[int] = []
        step: list[int] = []
        tried = 0
        place: Place | None = None
        while len(found) <= MOST and time.monotonic() < until:
            allowed = int.from_bytes(matcher.mask(), "little")
            if matcher.error is not None:
                return None
            if matcher.stopped or allowed & self._ends:
                return Way(found, place or "forced")
            if not allowed:
                return None
            forced = matcher.forced()
            if not forced:
                in_text = self._in_text(matcher)
                step = self._step(matcher, step, in_text) or [_lowest(allowed & ~tried or allowed)]
                tried |= 1 << step[0]
                value: Place = "value" if step in self._least else "other"
                place = place or ("text" if in_text else value)
            place = place or "forced"
            for token in forced or step:
                matcher.consume(token)
            found += forced or step
        return None

    def _in_text(self, matcher: Matcher) -> bool:
        return all(matcher.fitting(row) for row in self._any)

    def _step(self, matcher: Matcher, last: list[int], in_text: bool) -> list[int] | None:
        """What leads on to the end. In a text all of it may come, and what did not help the last
        time is a part of the text."""
        if not in_text:
            rows = [*self._ending, *(row for row in self._least if row != last)]
        elif last in self._quotes:
            rows = [*(row for row in self._quotes if row != last), last]
        else:
            rows = self._quotes
        return next((row for row in rows if matcher.fitting(row) == len(row)), None)


class Closing:
    """Brings one answer to its end within `room` tokens. `coming` are the next ones then, and it is
    `begun`."""

    def __init__(self, closer: Closer, room: int) -> None:
        self._closer = closer
        self._room = room
        self._most_spare = room // SPARE_SHARE
        self._look_at = 2 * MOST
        self._in_text = False
        self.coming: list[int] = []
        self.begun = False

    def accept(self, token: int, matcher: Matcher) -> None:
        """The token was written, which the matcher knows."""
        self._room -= 1
        self._in_text = False
        if self.coming[:1] == [token]:
            del self.coming[0]
            return
        if self.coming:  # what was forced before, or ends thinking, goes first
            self.begun, self.coming = False, []
        if 0 < self._room <= self._look_at:
            self._look(matcher)

    def narrowed(self, mask: bytes) -> bytes:
        """A mask without tokens that leave more to be closed, within a text where room is short."""
        return without(mask, self._closer.open) if self._in_text else mask

    def _look(self, matcher: Matcher) -> None:
        until = time.monotonic() + _MOST_SECONDS
        way = self._closer.way(matcher.copy(), until)
        if time.monotonic() >= until:
            self._look_at = 0  # never again
            return
        needed = len(way.tokens) if way else 0
        if way and needed <= self._room <= needed + max(_SPARE.values()):
            self._in_text = way.place == "text"
            spare = min(_SPARE.get(way.place, 0), self._most_spare)
            if way.place != "forced" and self._room <= needed + spare:
                self.begun, self.coming = True, way.tokens
        self._look_at = self._room * 3 // 4
        if way and needed <= self._room:  # where there is none, to look often is in vain
            near = needed + max(_SPARE.values())
            self._look_at = min(self._room - 1, max(near, self._look_at))


def _lowest(allowed: int) -> int:
    """The first token that may come: punctuation, digits and letters alone are the first of most
    vocabularies."""
    return (allowed & -allowed).bit_length() - 1


def _outer(layout: Layout) -> tuple[str, ...]:
    """What ends calls, from within to without."""
    end = "" if isinstance(layout.body, JsonBody) else layout.body.end
    return end, layout.call[1], layout.section[1]


def _inner(layout: Layout) -> tuple[str, ...]:
    """What ends a text in arguments that are not JSON."""
    if isinstance(layout.body, JsonBody):
        return ()
    match layout.body.arguments:
        case JsonArguments(quote):
            return (quote,)
        case TaggedArguments(value=(_, end)):
            return (end,)
        case NestedArguments(mark):
            return (mark,)
        case _:
            return (_QUOTE, "'")
