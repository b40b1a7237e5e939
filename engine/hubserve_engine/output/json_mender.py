"""JSON as models write it -> JSON, piece by piece, in the types that a schema wants.

Mended is what has one meaning only: line ends and other control characters inside strings, literals
of Python, single quotes, keys and words without quotes, a comma too many or missing, quotes inside
a string that nothing could follow if they ended it, brackets that are missing at the end. A value
of the wrong type becomes the one that the schema wants, if its text is one. White space stays as it
is, so that a sound text comes out unchanged.

Every text makes valid JSON, for any cutting into chunks: what has no place is left out.
"""

import json
import re
from typing import Literal

from hubserve_engine import surrogates
from hubserve_engine.output.json_string import JsonString
from hubserve_engine.output.json_writer import ANYTHING, JsonWriter
from hubserve_engine.output.scalars import text_as_scalar, word_as_scalar
from hubserve_engine.output.shape import Shape, compact

_PORTION = 1024  # what is read at once, since what is read is cut off what is left
_SPACE = re.compile(r"[ \t\r\n\f\v\ufeff]*")
_WORD_END = re.compile(r"[,\]}\n<]")
_KEY_END = re.compile(r"[:,\]}\n<]")
_PYTHON_WORD_END = re.compile(r"[,)\]}\n]")
_PYTHON_KEY_END = re.compile(r"[:=,)\]}\n]")
_Expected = Literal["value", "key", "colon", "next", "captured"]


class JsonMender:
    """Reads one value. `done` is true behind its end, and `rest` what followed it.

    `quote` is the only quotation mark of formats that have one of their own, and no escapes. With
    `python` the value is the keyword arguments of a call, behind its opening bracket.
    """

    def __init__(self, shape: Shape = ANYTHING, *, quote: str = '"', python: bool = False) -> None:
        self.done = False
        self.rest = ""
        self._text = ""
        self._writer = JsonWriter(shape)
        self._expected: _Expected = "value"
        self._own_quote = "" if quote == '"' else quote
        self._string: JsonString | None = None
        self._is_key = False
        self._kept: list[str] | None = None
        self._inner: JsonMender | None = None
        self._closing = ")]}" if python else "]}"
        self._word_end = _PYTHON_WORD_END if python else _WORD_END
        self._key_end = _PYTHON_KEY_END if python else _KEY_END
        if python:
            self._open("{")

    @property
    def between(self) -> bool:
        """Whether nothing is missing but closing brackets."""
        if self._string is not None:
            return self._string.at_mark and not self._is_key
        return self.done or self._expected == "next"

    def feed(self, text: str) -> str:
        """More of the valid JSON."""
        if self.done:
            self.rest += text
            return ""
        for start in range(0, len(text), _PORTION):
            self._text += text[start : start + _PORTION]
            while not self.done and self._text and self._step():
                pass
            if self.done:
                self.rest, self._text = self._text + text[start + _PORTION :], ""
                break
        return self._writer.take()

    def finish(self) -> str:
        """The last of it: all that is open is closed."""
        if self.done:
            return ""
        out = self.feed("\n") if self._text.strip() else ""
        if self._string is not None:
            self._add(self._string.finish())
            self._end_string()
        if self._inner is not None:
            self._end_captured(self._inner.finish())
        if self._expected == "colon":
            self._writer.write(": null")
        elif self._expected == "value" and not self._writer.in_array:
            self._writer.write("null")
        self._after_value()
        while not self.done:
            self._close()
        self.rest = ""
        return out + self._writer.take()

    def _step(self) -> bool:
        """Works on the text; False where it has to wait for more."""
        if self._string is not None:
            return self._more_string(self._string)
        if self._expected == "captured":
            return self._captured()
        space = _SPACE.match(self._text)
        if space and space.end():
            self._writer.space(space[0])
            self._text = self._text[space.end() :]
            return bool(self._text)
        match self._expected:
            case "value":
                return self._value()
            case "key":
                return self._key()
            case "colon":
                return self._colon()
            case _:
                return self._next()

    # Values

    def _value(self) -> bool:
        text, shape = self._text, self._writer.shape
        first = text[0]
        if quote := self._quote_at(text):
            return quote != "partial" and self._open_string(quote, is_key=False)
        if first in "{[":
            if self._writer.depth and shape.types is not None and shape.types <= {"string", "null"}:
                self._inner = JsonMender(quote=self._own_quote or '"')
                self._kept = []
                self._expected = "captured"
                return True
            self._open(first)
            return self._skip(1)
        if first in self._closing:
            if not self._writer.depth:
                return self._skip(1)
            if self._writer.in_object:
                self._writer.write("null")
            return self._close_by(first)
        if first in ",:":
            return self._skip(1)
        if first == "<":
            return self._end_early()
        return self._word()

    def _open(self, bracket: str) -> None:
        self._writer.open(bracket)
        self._expected = "key" if bracket == "{" else "value"

    def _word(self) -> bool:
        end = self._word_end.search(self._text)
        if end is None:
            return False
        word = self._text[: end.start()].strip()
        self._writer.write(word_as_scalar(word, self._writer.shape.types))
        self._text = self._text[end.start() :]
        self._after_value()
        return True

    def _after_value(self) -> None:
        self._expected = "next"
        if not self._writer.depth:
            self.done = True

    # Objects and arrays

    def _key(self) -> bool:
        first = self._text[0]
        if quote := self._quote_at(self._text):
            return quote != "partial" and self._open_string(quote, is_key=True)
        if first in self._closing:
            return self._close_by(first)
        if first == ",":
            return self._skip(1)
        if first == "<":
            return self._end_early()
        end = self._key_end.search(self._text)
        if end is None:
            return False
        if end[0] in ":=":
            self._begin_member(self._text[: end.start()].strip())
        self._text = self._text[max(end.start(), end[0] != "<") :]
        return True

    def _begin_member(self, key: str) -> None:
        self._writer.key(key)
        self._expected = "colon"

    def _colon(self) -> bool:
        self._writer.write(":")
        self._expected = "value"
        return self._skip(1) if self._text[0] in ":=" else True

    def _next(self) -> bool:
        first = self._text[0]
        if first in self._closing:
            return self._close_by(first)
        if first == "<":
            return self._end_early()
        self._writer.comma()
        self._expected = "key" if self._writer.in_object else "value"
        return self._skip(1) if first == "," else True

    def _close_by(self, bracket: str) -> bool:
        self._skip(1)
        self._writer.close_by(bracket)
        self._after_value()
        return True

    def _close(self) -> None:
        self._writer.close()
        self._after_value()

    def _end_early(self) -> bool:
        """A tag follows: what is open was forgotten to be closed."""
        if not self._writer.depth:
            return self._skip(1)
        if self._expected == "value" and self._writer.in_object:
            self._writer.write("null")
        while not self.done:
            self._close()
        return True

    # Strings

    def _quote_at(self, text: str) -> str:
        """The quotation mark that the text begins with; "partial" where it may become one."""
        if not self._own_quote:
            return text[0] if text[0] in "\"'" else ""
        if text.startswith(self._own_quote):
            return self._own_quote
        return "partial" if self._own_quote.startswith(text) else ""

    def _open_string(self, quote: str, *, is_key: bool) -> bool:
        followers = ":" if is_key else f",<{self._closing}"
        self._is_key = is_key
        self._kept = None
        self._string = JsonString(
            quote, followers=followers if self._writer.depth else "", verbatim=bool(self._own_quote)
        )
        if is_key or not self._writer.shape.takes_text:
            self._kept = []
        else:
            self._writer.write('"')
        return self._skip(len(quote))

    def _more_string(self, string: JsonString) -> bool:
        self._add(string.feed(self._text))
        self._text = string.rest
        if string.done:
            self._end_string()
        return bool(self._text)

    def _add(self, text: str) -> None:
        if self._kept is None:
            self._writer.write(text)
        else:
            self._kept.append(text)

    def _end_string(self) -> None:
        self._string = None
        if self._kept is None:
            self._writer.write('"')
            self._after_value()
            return
        text = surrogates.mended(json.loads('"' + "".join(self._kept) + '"'))
        self._kept = None
        if self._is_key:
            self._begin_member(text)
            return
        self._writer.write(value_text(text, self._writer.shape))
        self._after_value()

    def _captured(self) -> bool:
        """An object or array where a string is wanted: its text is the string."""
        assert self._inner is not None and self._kept is not None
        self._kept.append(self._inner.feed(self._text))
        self._text = self._inner.rest
        if self._inner.done:
            self._end_captured("")
        return bool(self._text)

    def _end_captured(self, last: str) -> None:
        assert self._kept is not None
        self._writer.write(compact("".join(self._kept) + last))
        self._inner = self._kept = None
        self._after_value()

    # Output

    def _skip(self, count: int) -> bool:
        self._text = self._text[count:]
        return bool(self._text)


def mended(text: str, shape: Shape = ANYTHING) -> str:
    """The whole of a text as valid JSON."""
    mender = JsonMender(shape)
    return mender.feed(text) + mender.finish()


def value_text(text: str, shape: Shape) -> str:
    """The JSON for a value that stands as plain text, in a type that the schema wants."""
    types, bare = shape.types, text.strip()
    if bare[:1] in ("{", "[") and (types is None or "string" not in types):
        wanted = "object" if bare[0] == "{" else "array"
        if types is None:
            return bare if _is_json(bare) else compact(text)
        if wanted in types:
            return mended(bare, shape)
    return text_as_scalar(text, types)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
