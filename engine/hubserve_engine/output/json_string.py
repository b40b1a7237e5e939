"""A string in JSON as models write it -> the text between the quotation marks of a sound one."""

import re
import sys

from hubserve_engine.output.shape import compact
from hubserve_engine.stop import partial_suffix
from hubserve_engine.surrogates import mended

_SPACE = re.compile(r"\s*")
_PLAIN = re.compile(r"[^\"'\\\x00-\x1f]+")
_ESCAPED = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})")
_PYTHON_ESCAPED = re.compile(r"\\(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8})")
_ESCAPE_LENGTHS = {"u": 6, "x": 4, "U": 10}


class JsonString:
    """Reads from behind the opening mark. `done` is true behind the closing one, and `rest` what
    followed it.

    Of the characters in `followers` one has to follow the closing mark, or it is a part of the
    string; where there are none the first mark ends it. With `verbatim` there are no escapes.
    """

    def __init__(self, quote: str, *, followers: str, verbatim: bool) -> None:
        self.done = False
        self.rest = ""
        self._quote = quote
        self._followers = followers
        self._verbatim = verbatim
        self._text = ""

    @property
    def at_mark(self) -> bool:
        """Whether the last that was read may be the closing mark."""
        text = self._text
        return not self._verbatim and text[:1] == self._quote and not text[1:].strip()

    def feed(self, text: str) -> str:
        """More of the sound string."""
        self._text += text
        out = ""
        while self._text and not self.done:
            before = self._text
            out += self._up_to_mark() if self._verbatim else self._step()
            if self._text == before:
                break
        if self.done:
            self.rest, self._text = self._text, ""
        return out

    def finish(self) -> str:
        """The last of it, where the text ends: a mark at its end is the closing one."""
        closed = self.at_mark
        text, self._text = self._text, ""
        self.done = True
        return "" if closed else _sound(text)

    def _up_to_mark(self) -> str:
        at = self._text.find(self._quote)
        if at >= 0:
            return self._take(at, skip=len(self._quote), done=True)
        return self._take(len(self._text) - partial_suffix(self._text, (self._quote,)))

    def _step(self) -> str:
        first = self._text[0]
        if plain := _PLAIN.match(self._text):
            return self._take(plain.end())
        if first == "\\":
            return self._escape()
        if first == self._quote:
            return self._mark()
        return self._take(1)

    def _escape(self) -> str:
        text = self._text
        if len(text) < _ESCAPE_LENGTHS.get(text[1:2], 2):
            return ""
        if sound := _ESCAPED.match(text):
            self._text = text[sound.end() :]
            return sound[0]
        if pythons := _PYTHON_ESCAPED.match(text):
            code = int(pythons[0][2:], 16)
            self._text = text[pythons.end() :]
            return _sound(mended(chr(min(code, sys.maxunicode))))
        if text[1] == "'":
            self._text = text[1:]
        return self._take(1)

    def _mark(self) -> str:
        """It ends the string only where something follows that can follow one."""
        space = _SPACE.match(self._text, 1)
        end = space.end() if space else 1
        if not self._followers:
            return self._take(0, skip=1, done=True)
        if end == len(self._text):
            return ""
        following, line_ends = self._text[end], "\n" in self._text[1:end]
        if following in self._followers or (line_ends and following == self._quote):
            return self._take(0, skip=1, done=True)
        return self._take(1)

    def _take(self, count: int, *, skip: int = 0, done: bool = False) -> str:
        """The next `count` characters; as many as `skip` says are no part of the string."""
        taken = self._text[:count]
        self._text = self._text[count + skip :]
        self.done = done
        return _sound(taken)


def _sound(text: str) -> str:
    return compact(text)[1:-1]
