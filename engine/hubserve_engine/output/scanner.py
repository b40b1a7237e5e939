"""The text of one answer -> pieces: text, and calls.

A text that can begin a call is a trigger. Behind one, all layouts that begin so are tried, one
after the other: the model's own first, which stream their arguments, then all others, which are
kept until they are whole, and are calls only if their arguments fit. What none takes is text.
What is text and what is a call depends on the whole alone, never on how it was cut into chunks.
"""

from dataclasses import dataclass

from hubserve_engine.output.attempt import Attempt
from hubserve_engine.output.offer import Offer
from hubserve_engine.output.triggers import Texts, Way, triggers
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.tool_formats.layout import Layout, NamedBody

_FENCE = "```"
_MOST_SPACE = 64
_NO_SECOND_LOOK = 1000
"""A call that does not fit, or never ends, is text, and so is what is inside one of so many
characters: else texts in texts would be read again and again."""


@dataclass(frozen=True, slots=True)
class Text:
    """More of the content. `end` is how much of the scanned text is accounted for with it."""

    text: str
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    """More of a call: `name` comes with its first piece, `last` with its last one."""

    arguments: str
    end: int
    name: str | None = None
    last: bool = False


Piece = Text | Call


class Scanner:
    """For one choice. `cut` is the text of a call that was told in part when the answer ended."""

    def __init__(self, format: ToolFormat, offer: Offer) -> None:
        self.cut: str | None = None
        self.calls = 0
        self._offer = offer
        self._triggers = triggers(format)
        self._scanned = 0
        self._text = ""
        self._blank_line = True
        self._said = False
        self._gap = ""
        self._trigger = ""
        self._raw = ""  # from the trigger on
        self._attempts: list[Attempt] = []
        self._misfit = 0
        self._after: Way | None = None
        self._separated = False
        self._closed = False
        self._over = False
        self._out: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        self._scanned += len(text)
        self._text += text
        while self._text and self._step():
            pass
        return self._take()

    def finish(self, *, stopped: bool) -> list[Piece]:
        """The last pieces; `stopped` says that the model ended by itself."""
        while self._attempts:
            attempt = self._attempts[0]
            self._tell(attempt, attempt.finish(stopped=stopped))
            if attempt.state == "done":
                self._attempts = []
            elif attempt.told:
                self.cut = self._gap + self._raw
                return self._take()
            elif self._next_attempt(len(self._raw)):
                self._try(self._raw)
                while self._text and self._step():
                    pass
            else:
                self._say(self._gap + self._raw)
        text, self._text = self._text, ""
        if self._after is None or not self._is_closing(self._after, text):
            self._say(text)
        return self._take()

    def _is_closing(self, way: Way, text: str) -> bool:
        """Whether the text behind a call is no more than a part of what closes it."""
        closers = _closers(way.layout) if not self._over else []
        return not text.strip() or any(closer.startswith(text) for closer in closers)

    def _step(self) -> bool:
        """Works on the text; False where it has to wait for more."""
        if self._attempts:
            text, self._text = self._text, ""
            self._raw += text
            return self._try(text)
        return self._search() if self._after is None else self._behind(self._after)

    # Text

    def _search(self) -> bool:
        if found := self._triggers.search(self._text, self._blank_line):
            self._begin(found[0], found.start(), self._triggers.ways(found[0]))
            return True
        end = len(self._text) - self._triggers.partial(self._text)
        end -= _space_at_end(self._text[:end])
        text, self._text = self._text[:end], self._text[end:]
        self._say(text)
        return False

    def _begin(self, trigger: str, at: int, openings: list[tuple[Way, Texts]]) -> None:
        """Tries the openings on the text from `at` on."""
        before = at - _space_at_end(self._text[:at])
        text, rest = self._text[:before], self._text[before:]
        self._text = rest
        self._say(text)
        self._gap, self._text = rest[: at - before], rest[at - before :]
        self._trigger, self._raw, self._misfit = trigger, "", 0
        several = self._offer.parallel or not self.calls
        self._attempts = [
            Attempt(way, opening, self._offer, held=not (way.own and several))
            for way, opening in openings
        ]

    def _say(self, text: str) -> None:
        """`text` is content; `_text` is what follows it."""
        if not text:
            return
        end = self._scanned - len(self._text)
        last = self._out[-1] if self._out else None
        if isinstance(last, Text):
            self._out[-1] = Text(last.text + text, end)
        else:
            self._out.append(Text(text, end))
        _, newline, line = text.rpartition("\n")
        self._blank_line = not line.strip() and (bool(newline) or self._blank_line)
        self._said = self._said or bool(text.strip())

    # Calls

    def _try(self, text: str) -> bool:
        """More text for the attempt at the head, or all of it for the next one."""
        while True:
            attempt = self._attempts[0]
            told = attempt.feed(text)
            self._tell(attempt, told)
            if attempt.state == "open":
                return False
            if attempt.state == "done":
                self._attempts = []
                self._text = attempt.rest
                return True
            if not self._next_attempt():
                self._give_up()
                return True
            text = self._raw

    def _next_attempt(self, misfit: int = 0) -> bool:
        """Drops the one at the head, to which so much of the text was a call but for its end;
        whether there is another."""
        self._misfit = max(self._misfit, self._attempts.pop(0).misfit, misfit)
        return bool(self._attempts)

    def _give_up(self) -> None:
        """The trigger was none. What follows it may hold others."""
        end = self._misfit if self._misfit > _NO_SECOND_LOOK else len(self._trigger)
        self._text = self._raw[end:]
        self._say(self._gap + self._raw[:end])

    def _tell(self, attempt: Attempt, arguments: str) -> None:
        """Pieces of a call. Where one is enough, the others are dropped."""
        done = attempt.state == "done"
        if not arguments and not done:
            return
        if done:
            self._after, self._gap = attempt.way, ""
            self._separated = self._closed = self._over = False
        if not self._offer.parallel and self.calls:
            return
        end = self._scanned - len(attempt.rest)
        first = attempt.name if not attempt.named else None
        attempt.named = True
        self._out.append(Call(arguments, end, first, done))
        self.calls += done

    def _behind(self, way: Way) -> bool:
        """Behind a call: what closes it and its row, then another one, or text."""
        text = self._text.lstrip()
        self._gap = (self._gap + self._text[: len(self._text) - len(text)])[-_MOST_SPACE:]
        self._text = text
        if not text:
            return False
        if self._another_inside(way.layout, text):
            self._after = None
            self._begin(text[0], 0, [(way, ())])
            return True
        closers = [] if self._over else _closers(way.layout)
        for closer in closers:
            if text.startswith(closer):
                self._text, self._gap = text[len(closer) :], ""
                self._separated = closer in (",", way.layout.separator.strip())
                self._closed = self._closed or closer in way.layout.call[1]
                # Behind the fence of a row another one may open.
                self._over = closer == _FENCE and way.layout.section[1].endswith(_FENCE)
                return True
        if any(closer.startswith(text) for closer in closers):
            return False
        self._after = None
        if self._said:
            self._text = self._gap + text
        self._gap = ""
        return True

    def _another_inside(self, layout: Layout, text: str) -> bool:
        """Whether another call begins in what the last one stands in."""
        if self._over:
            return False
        if isinstance(layout.body, NamedBody):
            return not layout.call[0] and self._separated
        row = bool(layout.section[0]) or layout.array or self._separated
        return text[0] == "{" and (row or bool(layout.call[0].strip() and not self._closed))

    def _take(self) -> list[Piece]:
        out, self._out = self._out, []
        return out


def _closers(layout: Layout) -> list[str]:
    """What may stand behind a call of a row, the longest first."""
    closers = [layout.call[1], layout.section[1], layout.separator]
    if isinstance(layout.body, NamedBody):
        closers.append(layout.body.end)
    else:
        closers += ["}", ","]
    if layout.array:
        closers += ["]", ","]
    lines = "\n".join(closers).split("\n")
    return sorted(filter(None, map(str.strip, lines)), key=len, reverse=True)


def _space_at_end(text: str) -> int:
    """How many characters of white space end the text, as far as they are held back."""
    tail = text[-_MOST_SPACE:]
    return len(tail) - len(tail.rstrip())
