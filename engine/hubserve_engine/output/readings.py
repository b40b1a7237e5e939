"""One call read as it comes, in each of the ways in which a layout can have its arguments.

A reading gets the text from where the name begins. Its `state` is "open" until it is "done", with
what followed in `rest`, or "failed": then it was no call. `tool` is known before the first of the
arguments is returned.
"""

import ast
import json
from typing import Literal, Protocol

from hubserve_engine.output.json_mender import ANYTHING, JsonMender, mended, value_text
from hubserve_engine.output.offer import Offer, Tool
from hubserve_engine.output.opening import Opening
from hubserve_engine.output.shape import Shape, compact
from hubserve_engine.stop import partial_suffix
from hubserve_engine.tool_formats.layout import (
    JsonArguments,
    JsonBody,
    Layout,
    NamedBody,
    PythonArguments,
    TaggedArguments,
)

State = Literal["open", "done", "failed"]

_NAMES = ("name", "tool_name", "function_name", "tool")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "tool_arguments")
_OTHERS = frozenset(("id", "type", "index", "tool_call_id", "call_id"))
_LONGEST_KEY = 32


class Reading(Protocol):
    state: State
    rest: str
    tool: Tool | None

    def feed(self, text: str) -> str:
        """More of the arguments, as JSON."""
        ...

    def finish(self, stopped: bool) -> str:
        """The last of them, where the text ends. "done" or "failed" follows: a call that was cut
        off has failed. `stopped` says that the model ended by itself."""
        ...


def reading(layout: Layout, offer: Offer, *, strict: bool) -> Reading:
    """`strict` takes no object that has more in it than a call has."""
    match layout.body:
        case JsonBody() as body:
            return ObjectReading(body, offer, strict=strict)
        case NamedBody() as body:
            return NamedReading(body, layout.call[1], offer)


class ObjectReading:
    """`{"name": ..., "arguments": {...}}` in any order, also within `function`."""

    def __init__(self, body: JsonBody, offer: Offer, *, strict: bool) -> None:
        self.state: State = "open"
        self.rest = ""
        self.tool: Tool | None = None
        self._body = body
        self._offer = offer
        self._strict = strict
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
        self._text += text
        while self.state == "open" and self._text:
            before = len(self._text), self._expected
            out += self._step()
            if (len(self._text), self._expected) == before:
                break
        if self.state == "done":
            self.rest, self._text = self._text, ""
        return out

    def finish(self, stopped: bool) -> str:
        out = ""
        if self._value is not None and self._streams and stopped and self._value.between:
            out = self._value.finish()
            self._value = None
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
        if value.done:
            self._value = None
            self._expected = "next"
            if self._streams:
                self._told = True
            else:
                return self._kept_value()
        return made if self._streams else ""

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
        elif self._strict and self._key not in _OTHERS | self._name_keys:
            self._misfit = True
        return ""

    def _whole(self, tool: Tool, arguments: str) -> str:
        """Arguments that are known as a whole: also as JSON in a string, or null for none."""
        text = arguments
        if text.startswith('"'):
            text = json.loads(text).strip()
        if text == "null":
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


class NamedReading:
    """The name, the middle, then arguments of one kind."""

    def __init__(self, body: NamedBody, closing: str, offer: Offer) -> None:
        self.state: State = "open"
        self.rest = ""
        self.tool: Tool | None = None
        self._body = body
        self._closing = (body.end + closing).strip()
        self._offer = offer
        self._text = ""
        self._middle: Opening | None = None
        self._arguments: JsonReading | TaggedReading | PythonReading | None = None

    def feed(self, text: str) -> str:
        if self.state != "open":
            self.rest += text
            return ""
        if self.tool is None:
            self._text = (self._text + text).lstrip()
            found = self._offer.begins(self._text)
            if found is None:
                self.state = "failed"
            if not isinstance(found, tuple):
                return ""
            self.tool, text = found
            self._middle = Opening((self._body.middle,))
        if self._arguments is None:
            assert self._middle is not None
            self._middle.feed(text)
            if self._middle.state == "missed":
                self.state = "failed"
            if self._middle.state != "met":
                return ""
            text = self._middle.rest
            self._arguments = self._reader(self.tool)
        out = self._arguments.feed(text)
        self.state, self.rest = self._arguments.state, self._arguments.rest
        return out

    def finish(self, stopped: bool) -> str:
        if self._arguments is None:
            self.state = "failed"
        if self._arguments is None or self.state != "open":
            return ""
        out = self._arguments.finish(stopped)
        self.state = self._arguments.state
        return out

    def _reader(self, tool: Tool) -> "JsonReading | TaggedReading | PythonReading":
        match self._body.arguments:
            case JsonArguments(quote):
                return JsonReading(tool.shape, quote)
            case TaggedArguments() as tags:
                return TaggedReading(tags, tool.shape, self._closing)
            case PythonArguments():
                return PythonReading(tool.shape)


class JsonReading:
    """Arguments as one object."""

    def __init__(self, shape: Shape, quote: str) -> None:
        self.state: State = "open"
        self.rest = ""
        self._mender = JsonMender(shape, quote=quote)
        self._began = False

    def feed(self, text: str) -> str:
        if not self._began:
            text = text.lstrip()
            if not text:
                return ""
            self._began = True
            if text[0] != "{":
                self.state = "failed"
                return ""
        out = self._mender.feed(text)
        if self._mender.done:
            self.state, self.rest = "done", self._mender.rest
        return out

    def finish(self, stopped: bool) -> str:
        whole = stopped and self._mender.between
        self.state = "done" if whole else "failed"
        return self._mender.finish() if whole else ""


class TaggedReading:
    """Arguments one by one, each between tags of its own. `closing` is what ends them."""

    def __init__(self, tags: TaggedArguments, shape: Shape, closing: str) -> None:
        self.state: State = "open"
        self.rest = ""
        self._shape = shape
        self._closing = closing
        self._key = tuple(text.strip() for text in tags.key)
        self._value = tuple(text.strip() for text in tags.value)
        self._leading_line = (tags.key[1] + tags.value[0]).endswith("\n")
        self._trailing_line = tags.value[1].startswith("\n")
        self._kinds = {text.strip(): kind for kind, text in tags.kinds}
        self._text = ""
        self._at: Literal["between", "key", "kind", "start", "value"] = "between"
        self._property = shape
        self._kept: list[str] | None = None
        self._count = 0
        self._out: list[str] = []

    def feed(self, text: str) -> str:
        self._text += text
        while self.state == "open" and self._step():
            pass
        if self.state == "done":
            self.rest, self._text = self._text, ""
        return self._take()

    def finish(self, stopped: bool) -> str:
        if stopped and self._at == "between":
            self._end()
        else:
            self.state = "failed"
        return self._take()

    def _step(self) -> bool:
        match self._at:
            case "between":
                return self._between()
            case "key":
                return self._name()
            case "kind":
                return self._kind()
            case "start":
                return self._start()
            case "value":
                return self._more()

    def _between(self) -> bool:
        text = self._text = self._text.lstrip()
        if text.startswith(self._key[0]):
            self._text = text[len(self._key[0]) :]
            self._at = "key"
            return True
        if self._closing and text.startswith(self._closing):
            self._text = text[len(self._closing) :]
            self._end()
            return False
        if not text or self._key[0].startswith(text) or self._closing.startswith(text):
            return False
        if not self._count:
            self.state = "failed"
            return False
        self._end()  # its closing was forgotten
        return False

    def _name(self) -> bool:
        at = self._text.find(self._key[1])
        if at < 0:
            return False
        key = self._text[:at].strip()
        self._text = self._text[at + len(self._key[1]) :]
        self._out.append(("{" if not self._count else ", ") + compact(key) + ": ")
        self._count += 1
        self._property = self._shape.property(key)
        self._at = "kind"
        return True

    def _kind(self) -> bool:
        if self._value[0]:
            at = self._text.find(self._value[0])
            if at < 0:
                return False
            kind = self._kinds.get(self._text[:at].strip())
            self._text = self._text[at + len(self._value[0]) :]
            if kind == "string" and self._property.types is None:
                self._property = Shape.of({"type": "string"})
        self._kept = None if self._property.text_only else []
        if self._kept is None:
            self._out.append('"')
        self._at = "start"
        return True

    def _start(self) -> bool:
        if not self._text:
            return False
        if self._leading_line:
            self._text = self._text.removeprefix("\n")
        self._at = "value"
        return True

    def _more(self) -> bool:
        at = self._text.find(self._value[1])
        if at >= 0:
            value = self._text[:at]
            self._text = self._text[at + len(self._value[1]) :]
            self._add(value.removesuffix("\n") if self._trailing_line else value)
            self._end_value()
            return True
        safe = len(self._text) - partial_suffix(self._text, (self._value[1],))
        if self._trailing_line and self._text[:safe].endswith("\n"):
            safe -= 1
        self._add(self._text[:safe])
        self._text = self._text[safe:]
        return False

    def _add(self, text: str) -> None:
        if self._kept is None:
            self._out.append(compact(text)[1:-1])
        else:
            self._kept.append(text)

    def _end_value(self) -> None:
        if self._kept is None:
            self._out.append('"')
        else:
            self._out.append(value_text("".join(self._kept), self._property))
        self._at = "between"

    def _end(self) -> None:
        self._out.append("}" if self._count else "{}")
        self.state = "done"

    def _take(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out


class PythonReading:
    """Keyword arguments, read at their closing bracket."""

    def __init__(self, shape: Shape) -> None:
        self.state: State = "open"
        self.rest = ""
        self._shape = shape
        self._text = ""
        self._at = 0
        self._depth = 0
        self._quote = ""

    def feed(self, text: str) -> str:
        self._text += text
        while self._at < len(self._text):
            char = self._text[self._at]
            if self._quote:
                if char == "\\":
                    self._at += 1
                elif char == self._quote:
                    self._quote = ""
            elif char in "\"'":
                self._quote = char
            elif char in "([{":
                self._depth += 1
            elif char == ")" and not self._depth:
                self.rest = self._text[self._at + 1 :]
                return self._read(self._text[: self._at])
            elif char in ")]}":
                self._depth -= 1
            self._at += 1
        return ""

    def finish(self, stopped: bool) -> str:
        self.state = "failed"
        return ""

    def _read(self, source: str) -> str:
        self.state = "failed"
        try:
            call = ast.parse(f"f({source}\n)", mode="eval").body
            assert isinstance(call, ast.Call)
            if call.args:
                return ""
            members = [
                f"{compact(each.arg)}: {self._value(each.arg, each.value)}"
                for each in call.keywords
                if each.arg is not None
            ]
        except (SyntaxError, ValueError, MemoryError, RecursionError, TypeError, AssertionError):
            return ""
        self.state = "done"
        return "{" + ", ".join(members) + "}"

    def _value(self, key: str, node: ast.expr) -> str:
        names = {"true": True, "false": False, "null": None}
        for each in ast.walk(node):
            for field, child in ast.iter_fields(each):
                if isinstance(child, ast.Name) and child.id in names:
                    setattr(each, field, ast.Constant(names[child.id]))
                elif isinstance(child, list):
                    child[:] = [
                        ast.Constant(names[item.id])
                        if isinstance(item, ast.Name) and item.id in names
                        else item
                        for item in child
                    ]
        if isinstance(node, ast.Name) and node.id in names:
            node = ast.Constant(names[node.id])
        return mended(compact(ast.literal_eval(node)), self._shape.property(key))
