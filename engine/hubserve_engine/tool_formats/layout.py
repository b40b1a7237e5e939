"""How a format writes calls, as data: enough to write one, to read one, and to make a grammar.

A row of calls is

    section[0] call separator call ... section[1]

with the calls between `[` and `]` where `array` says so. One call is `call[0]`, body, `call[1]`.
`{id}` and `{index}` stand for the call's id and its number (from 0) in any of these texts. White
space at the ends of the texts is written, and may be anything, or be missing, where they are read.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JsonArguments:
    """An object of JSON. With another `quote` its keys are bare and its strings have no escapes."""

    quote: str = '"'


@dataclass(frozen=True, slots=True)
class TaggedArguments:
    """One argument after the other: `key[0]` its name `key[1]`, `value[0]` its value `value[1]`.

    A string is written as it is, anything else as JSON. `kinds` are what stands behind `key[1]` for
    each JSON type, "" being all others, in formats that write types.
    """

    key: Pair
    value: Pair
    kinds: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonArguments:
    """Keyword arguments of a call in Python."""


Arguments = JsonArguments | TaggedArguments | PythonArguments


@dataclass(frozen=True, slots=True)
class JsonBody:
    """One object: `{"name": NAME, "arguments": ARGUMENTS}`, under these keys.

    With an empty `name` the name is itself the key of the arguments. `leading` and `trailing` are
    further members, written before and behind.
    """

    name: str = "name"
    arguments: str = "arguments"
    leading: str = ""
    trailing: str = ""


@dataclass(frozen=True, slots=True)
class NamedBody:
    """The name, `middle`, the arguments, `end`."""

    middle: str
    arguments: Arguments = JsonArguments()
    end: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    body: JsonBody | NamedBody
    call: Pair = ("", "")
    section: Pair = ("", "")
    array: bool = False
    separator: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every fixed text of it."""
        texts = [*self.section, self.separator, *self.call]
        if isinstance(self.body, JsonBody):
            return (*texts, self.body.leading, self.body.trailing)
        texts += [self.body.middle, self.body.end]
        match self.body.arguments:
            case JsonArguments(quote):
                texts.append(quote)
            case TaggedArguments(key, value, kinds):
                texts += [*key, *value, *(text for _, text in kinds)]
        return tuple(texts)

    def written(self, calls: Iterable[tuple[str, str, dict[str, Any]]]) -> str:
        """A row of calls: the id, the name and the arguments of each."""
        rows = [
            filled(self.call[0], id, index)
            + "".join(self._body(name, arguments, id, index))
            + filled(self.call[1], id, index)
            for index, (id, name, arguments) in enumerate(calls)
        ]
        joined = self.separator.join(rows)
        return self.section[0] + (f"[{joined}]" if self.array else joined) + self.section[1]

    def _body(self, name: str, arguments: dict[str, Any], id: str, index: int) -> Iterator[str]:
        match self.body:
            case JsonBody(name=""):
                yield f"{{{_json(name)}: {_json(arguments)}}}"
            case JsonBody() as body:
                yield "{" + filled(body.leading, id, index) + f'"{body.name}": {_json(name)}'
                yield f', "{body.arguments}": {_json(arguments)}'
                yield filled(body.trailing, id, index) + "}"
            case NamedBody(middle, kind, end):
                yield name + filled(middle, id, index)
                yield from _arguments(kind, arguments)
                yield filled(end, id, index)


def filled(text: str, id: str, index: int) -> str:
    return text.replace("{id}", id).replace("{index}", str(index))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(kind: Arguments, arguments: dict[str, Any]) -> Iterator[str]:
    match kind:
        case JsonArguments('"'):
            yield _json(arguments)
        case JsonArguments(quote):
            yield _quoted(arguments, quote)
        case TaggedArguments():
            kinds = dict(kind.kinds)
            for key, value in arguments.items():
                mark = kinds.get(_type(value), kinds.get("", ""))
                text = value if isinstance(value, str) else _json(value)
                yield kind.key[0] + key + kind.key[1] + mark + kind.value[0] + text + kind.value[1]
        case PythonArguments():
            yield ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def _quoted(value: Any, quote: str) -> str:
    match value:
        case str():
            return quote + value + quote
        case dict():
            members = (f"{key}:{_quoted(item, quote)}" for key, item in value.items())
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(_quoted(item, quote) for item in value) + "]"
        case _:
            return _json(value)


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
