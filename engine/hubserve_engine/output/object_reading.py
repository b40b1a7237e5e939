"""A call that is one object of JSON."""

import json
from typing import Literal

from hubserve_engine.output.json_mender import JsonMender, mended
from hubserve_engine.output.json_writer import ANYTHING
from hubserve_engine.output.offer import Offer, Tool
from hubserve_engine.output.reading import State
from hubserve_engine.tool_formats.layout import JsonBody

_NAMES = ("name", "tool_name", "function_name", "tool")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "tool_arguments")
_OTHERS = frozenset(("id", "type", "index", "tool_call_id", "call_id"))
_NONE = ("null", "", "[]")
"""What models write for no arguments at all."""
_LONGEST_KEY = 32


class ObjectReading:
    """`{"name": ..., "arguments": {...}}` in any order, also within `function`.

    `strict` takes no object that has more in it than a call has; `bare` takes none that has more
    before the arguments: nothing but its members says that it is a call.
    """

    def __init__(self, body: JsonBody, offer: Offer, *, strict: bool, bare: bool = False) -> None:
        self.state: State = "open"
        self.rest = ""
        self.tool: Tool | None = None
        self.fed = 0
        self.whole = 0  # of what was fed, up to the end of the last whole value
        self._body = body
        self._offer = offer
        self._strict = strict
        self._bare = bare
        self._name_keys = {body.name, "function", *_NAMES} if body.name else set[str]()
        self._argument_keys = {body.arguments, *_ARGUMENTS} if body.name else set[str]()
        self._text = ""
        self._expected: Literal["open", "key", "colon", "value", "next"] = "open"
        self._depth = 0
        self._key = ""
        self._keys = 0
        self._value: JsonMender | None = None
        self._streams = False
        self._kept = ""
        self._held: str | None = None  # arguments that came before the name, or as text
        self._told = False
        self._misfit = False

    def feed(self, text: str) -> str:
        out = ""
        self.fed += len(text)
        self._text += text
        while self.state == "open" and self._text:
            before = len(self._text), self._expected, self._value
            out += self._step()
            if (len(self._text), self._expected, self._value) == before:
                break
        if self.state == "done":
            self.rest, self._text = self._text, ""
        return out

    def finish(self, stopped: bool) -> str:
        out = ""
        if self._value is not None and self._streams and stopped and self._value.between:
            out = self._value.finish()
            self._close_arguments()
        if self.state == "open":
            whole = self._told and self._value is None and not self._misfit
            self.state = "done" if whole else "failed"
        return out

    def _step(self) -> str:
        if self._value is not None:
            return self._go_on(self._value)
        self._text = self._text.lstrip()
        if self._text:
            match self._expected:
                case "open":
                    self._take("{", "key")
                case "key":
                    self._read_key()
                case "colon":
                    self._take(":", "value")
                case "value":
                    self._begin_value()
                case "next":
                    return self._next()
        return ""

    def _fail(self) -> None:
        """No call; or what follows one that is whole but for its end."""
        self.state = "done" if self._told and not self._strict else "failed"

    def _take(self, bracket: str, then: Literal["key", "value"]) -> None:
        if self._text[0] != bracket:
            self._fail()
            return
        self._depth += bracket == "{"
        self._text = self._text[1:]
        self._expected = then

    def _read_key(self) -> None:
        quote = self._text[0]
        if quote == "}":
            self._expected = "next"
            return
        end = self._text.find(quote, 1)
        most = _LONGEST_KEY + self._offer.longest
        if quote not in "\"'" or max(end, len(self._text) if end < 0 else 0) > most:
            self._fail()
        elif end > 0:
            self._key, self._text = self._text[1:end], self._text[end + 1 :]
            self._expected = "colon"
            self._keys += 1
            if not self._body.name and self.tool is None:
                self.tool = self._offer.find(self._key)
            known = self._name_keys | self._argument_keys | _OTHERS
            if self._keys == 1 and self._key not in known and self.tool is None:
                self._fail()

    def _is_arguments(self) -> bool:
        if self._told or self._held is not None:
            return False
        return self._key in self._argument_keys or (not self._body.name and self._keys == 1)

    def _begin_value(self) -> None:
        if self._key == "function" and self._text[0] == "{":
            self._take("{", "key")
            return
        self._streams = self._is_arguments() and self.tool is not None and self._text[0] == "{"
        shape = self.tool.shape if self._streams and self.tool is not None else ANYTHING
        self._value = JsonMender(shape)
        self._kept = ""

    def _go_on(self, value: JsonMender) -> str:
        made = value.feed(self._text)
        self._text = value.rest if value.done else ""
        if not self._streams:
            self._kept += made
            most = _LONGEST_KEY + self._offer.longest
            if self._key in self._name_keys and len(self._kept) > most:
                self._fail()
                return ""
        if value.done:
            self.whole = self.fed - len(self._text)
            if not self._streams:
                self._value, self._expected = None, "next"
                return self._kept_value()
            self._close_arguments()
        return made if self._streams else ""

    def _close_arguments(self) -> None:
        self._value, self._expected = None, "next"
        self._told = True

    def _kept_value(self) -> str:
        """A value that was kept: the name, arguments that came too early, or something else."""
        if self._key in self._name_keys and self.tool is None:
            name = json.loads(self._kept)
            self.tool = self._offer.find(name) if isinstance(name, str) else None
            if self.tool is None:
                self._fail()
            elif self._held is not None:
                return self._whole(self.tool, self._held)
        elif self._is_arguments():
            self._held = self._kept
            if self.tool is not None:
                return self._whole(self.tool, self._held)
        elif self._key not in _OTHERS | self._name_keys:
            self._misfit = self._misfit or self._strict
            if self._bare and not self._told:
                self._fail()
        return ""

    def _whole(self, tool: Tool, arguments: str) -> str:
        """Arguments that are known as a whole: also as JSON in a string."""
        text = arguments
        if text.startswith('"'):
            text = json.loads(text).strip()
        if text in _NONE:
            text = "{}"
        if not text.startswith("{"):
            self.state = "failed"
            return ""
        self._told = True
        return mended(text, tool.shape)

    def _next(self) -> str:
        first = self._text[0]
        if first == ",":
            self._text = self._text[1:]
            self._expected = "key"
            return ""
        if first == "}":
            self._text = self._text[1:]
            self._depth -= 1
            if self._depth:
                return ""
        elif first in "\"'":
            self._expected = "key"  # a comma was forgotten
            return ""
        if self.tool is None or self._misfit:
            self.state = "failed"
            return ""
        self.state = "done"
        return "" if self._told else "{}"
