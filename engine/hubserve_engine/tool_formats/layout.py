"""How a format writes calls, as data: enough to write one, to read one, and to make a grammar.

A row of calls is

    section[0] call separator call ... section[1]

with the calls between `[` and `]` where `array` says so. One call is `call[0]`, body, `call[1]`.
`{id}`, `{index}`, `{number}` and `{name}` stand for the call's id, its number counted from 0 or
from 1, and its function, in the texts of a call and of its body. White
space at the ends of the texts is written, and may be anything, or be missing, where they are read.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hubserve_engine.json_schema import json_type

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JsonArguments:
    """An object of JSON. With another `quote` its keys are bare and its strings have no escapes."""

    quote: str = '"'


@dataclass(frozen=True, slots=True)
class TaggedArguments:
    """One argument after the other: `key[0]` its name `key[1]`, `value[0]` its value `value[1]`.

    A string is written as it is, anything else as JSON. `kinds` are what stands behind `key[1]` for
    each JSON type, "" being all others, in formats that write types. `verbatim` is what encloses a
    string that could be mistaken for tags.
    """

    key: Pair
    value: Pair
    kinds: tuple[Pair, ...] = ()
    verbatim: Pair = ("", "")

    def before(self, name: str, kind: str) -> str:
        """What stands before a value of one of the types of JSON, or of JSON Schema."""
        kinds = dict(self.kinds)
        mark = kinds.get("number" if kind == "integer" else kind, kinds.get("", ""))
        return self.key[0] + name + self.key[1] + mark + self.value[0]


@dataclass(frozen=True, slots=True)
class PythonArguments:
    """Keyword arguments of a call in Python."""


@dataclass(frozen=True, slots=True)
class NestedArguments:
    """A tag for each value, however deep, with `mark` before every tag: `<key>`, and `<item>` in
    an array. A string is written as it is."""

    mark: str


Arguments = JsonArguments | TaggedArguments | PythonArguments | NestedArguments


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
            case TaggedArguments(key, value, kinds, verbatim):
                texts += [*key, *value, *(text for _, text in kinds), *verbatim]
            case NestedArguments(mark):
                texts.append(mark)
        return tuple(texts)

    def written(self, calls: Iterable[tuple[str, str, dict[str, Any]]]) -> str:
        """A row of calls: the id, the name and the arguments of each."""
        rows = [
            "".join(self._call(Place(id, name, index), arguments))
            for index, (id, name, arguments) in enumerate(calls)
        ]
        joined = self.separator.join(rows)
        return self.section[0] + (f"[{joined}]" if self.array else joined) + self.section[1]

    def _call(self, place: "Place", arguments: dict[str, Any]) -> Iterator[str]:
        yield place.filled(self.call[0])
        match self.body:
            case JsonBody(name=""):
                yield f"{{{_json(place.name)}: {_json(arguments)}}}"
            case JsonBody() as body:
                yield "{" + place.filled(body.leading) + f'"{body.name}": {_json(place.name)}'
                yield f', "{body.arguments}": {_json(arguments)}'
                yield place.filled(body.trailing) + "}"
            case NamedBody(middle, kind, end):
                yield place.name + place.filled(middle)
                yield from _arguments(kind, arguments)
                yield place.filled(end)
        yield place.filled(self.call[1])


@dataclass(frozen=True, slots=True)
class Place:
    """What is put into the texts of one call."""

    id: str
    name: str
    index: int

    def filled(self, text: str) -> str:
        values = {"id": self.id, "index": self.index, "number": self.index + 1, "name": self.name}
        for key, value in values.items():
            text = text.replace(f"{{{key}}}", str(value))
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(kind: Arguments, arguments: dict[str, Any]) -> Iterator[str]:
    match kind:
        case JsonArguments('"'):
            yield _json(arguments)
        case JsonArguments(quote):
            yield _quoted(arguments, quote)
        case TaggedArguments():
            for key, value in arguments.items():
                text = value if isinstance(value, str) else _json(value)
                if isinstance(value, str) and set(value) & set("<>&\"'\n"):
                    text = kind.verbatim[0] + text + kind.verbatim[1]
                yield kind.before(key, json_type(value)) + text + kind.value[1]
        case PythonArguments():
            yield ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        case NestedArguments(mark):
            yield _nested(arguments, mark)


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


def _nested(value: Any, mark: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        pairs = [("item", item) for item in value]
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        return _json(value)
    return "".join(f"{mark}<{key}>{_nested(item, mark)}{mark}</{key}>" for key, item in pairs)
