"""Arguments in a notation of their own, held to a schema: keywords of a call in Python, bare keys,
tags within tags."""

import json
from collections.abc import Iterator
from typing import Any

from hubserve_engine.constraints.branches import branches, definitions, kinds, only, unnamed
from hubserve_engine.constraints.grammar import Grammar, literal
from hubserve_engine.constraints.notation import Notation
from hubserve_engine.constraints.patterns import whole
from hubserve_engine.constraints.probe import sound
from hubserve_engine.json_schema import Schema

_LISTED = frozenset(("const", "enum"))
_NUMBERS = frozenset(
    ("exclusiveMaximum", "exclusiveMinimum", "format", "maximum", "minimum", "multipleOf")
)
_KNOWN = {
    "string": frozenset(("maxLength", "minLength", "pattern")),
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "array": frozenset(("items", "maxItems", "minItems")),
    "object": frozenset(("additionalProperties", "properties", "required")),
}
"""Keywords of each type that can be held to in any notation."""
_SAYING = _LISTED.union(
    *_KNOWN.values(),
    ("$ref", "allOf", "anyOf", "maxProperties", "minProperties", "oneOf"),
    ("pattern", "patternProperties", "prefixItems"),
)
"""All keywords that say something of a value, but for its type."""
_NUMBER = r"/-?(0|[1-9][0-9]*)(\.[0-9]+)?/"
_NAME = "/[A-Za-z_][A-Za-z0-9_]*/"


def holds(notation: Notation, schema: Schema) -> bool:
    """Whether the arguments can be held to all that the schema says of them."""
    return (
        not unnamed(schema)
        and _plain(schema)
        and _members_hold(notation, schema, first=True)
        and all(
            _holds(notation, each) for value in _values(schema) for each in branches(value, schema)
        )
    )


def _values(root: Schema) -> Iterator[Any]:
    """The schemas of all values within the arguments, each once."""
    known, todo = set[str](), [*_properties(root).values()]
    while todo:
        value = todo.pop()
        key = json.dumps(value)
        if key in known:
            continue
        known.add(key)
        yield value
        for each in branches(value, root):
            todo += _properties(each).values()
            todo += [
                each[k] for k in ("items", "additionalProperties") if isinstance(each.get(k), dict)
            ]


def _holds(notation: Notation, schema: Schema) -> bool:
    """Whether a value is held to this, one of its alternatives."""
    if notation.quote is None:
        return True  # there is JSON for what is not plain
    free = "object" in kinds(schema) and not _properties(schema)
    if free and not notation.clear:
        return False
    listed = (text for text in _listed(schema) or () if isinstance(text, str))
    return (
        _plain(schema)
        and all(map(notation.tells, listed))
        and _members_hold(notation, schema, first=False)
    )


def _members_hold(notation: Notation, schema: Schema, *, first: bool) -> bool:
    named, required = _properties(schema), schema.get("required", [])
    return all(notation.names(name, first=first) for name in named) and (
        isinstance(required, list) and all(name in [*named] for name in required)
    )


def _plain(schema: Schema) -> bool:
    """Whether it says no more than can be held to in any notation."""
    said = schema.keys() & _SAYING
    if said & _LISTED:
        scalar = not any(isinstance(value, list | dict) for value in _listed(schema) or ())
        return said <= _LISTED and scalar
    known = {word for kind in kinds(schema) for word in _KNOWN.get(kind, ())}
    return said <= known and ("pattern" not in said or whole(schema["pattern"]) is not None)


class Values:
    """Writes rules for the values of one tool's arguments."""

    def __init__(self, grammar: Grammar, notation: Notation, root: Schema) -> None:
        self._grammar = grammar
        self._notation = notation
        self._root = root
        self._rules: dict[tuple[str, str], str] = {}

    def arguments(self) -> str:
        """An expression for all of them, in the order of the schema; optional ones may be
        missing."""
        keys = self._notation.first_keys or self._notation.keys
        return self._between(self._notation.arguments, self._members(self._root, keys))

    def value(self, schema: Any, end: str = "") -> str:
        """An expression for one value, and `end`."""
        key = json.dumps(schema), end
        if key not in self._rules:
            self._rules[key] = name = self._grammar.reserved()
            options = dict.fromkeys(self._options(schema, end)) or (self._any({}, end),)
            self._grammar.define(name, " | ".join(options))
        return self._rules[key]

    def _options(self, schema: Any, end: str) -> Iterator[str]:
        alternatives = [
            (each, kind) for each in branches(schema, self._root) for kind in kinds(each)
        ]
        if not self._notation.clear:
            # What is not told apart is read as one of these, if it may be.
            found = {kind for _, kind in alternatives}
            first = next((kind for kind in ("array", "string") if kind in found), None)
            alternatives = [pair for pair in alternatives if first in (None, pair[1])]
        for each, kind in alternatives:
            says = each.keys() & (_SAYING | {"type"})
            if not says or (self._notation.quote is None and not self._easy(each)):
                yield self._any(each, end)
            elif kind == "string":
                yield from self._texts(each, end)
            else:
                yield f"({self._other(each, kind)}) {literal(end)}"

    def _easy(self, schema: Schema) -> bool:
        named = _properties(schema)
        return (
            _plain(schema)
            and bool(named or "object" not in kinds(schema))
            and _members_hold(self._notation, schema, first=False)
        )

    def _any(self, schema: Schema, end: str) -> str:
        """What has no simple way to be written."""
        if self._notation.quote is None:
            return self._grammar.json(schema if sound(json.dumps(schema)) else {})
        if not self._notation.clear:
            return self._notation.text(self._grammar, {}, end)
        return self._anything()

    def _anything(self) -> str:
        key = "", ""
        if key not in self._rules:
            self._rules[key] = name = self._grammar.reserved()
            words = " | ".join(map(self._notation.word, ("true", "false", "null")))
            text = self._notation.text(self._grammar, {}, "")
            array = self._array({})
            self._grammar.define(
                name, f"{text} | {_NUMBER} | {words} | {array} | {self._map(name)}"
            )
        return self._rules[key]

    def _texts(self, schema: Schema, end: str) -> Iterator[str]:
        listed = _listed(schema)
        if listed is not None:
            written = [
                way
                for text in listed
                if isinstance(text, str) and self._notation.tells(text)
                for way in self._notation.listed(text, end)
            ]
            if written:
                yield self._grammar.terminal(" | ".join(written))
            return
        yield self._notation.text(self._grammar, schema, end)

    def _other(self, schema: Schema, kind: str) -> str:
        listed = _listed(schema)
        if kind == "null":
            return self._notation.word("null")
        if kind == "boolean":
            words = ("true", "false") if listed is None else map(json.dumps, listed)
            return " | ".join(self._notation.word(w) for w in words if w in ("true", "false"))
        if kind == "array":
            return self._array(schema)
        if kind == "object":
            if _properties(schema):
                members = self._members(schema, self._notation.keys)
                return self._between(self._notation.members, members)
            if not self._notation.clear:
                return self._grammar.json({**schema, "type": "object"})
            further = schema.get("additionalProperties", {})
            if further is False:
                return self._between(self._notation.members, "")
            return self._map(self.value(further) if isinstance(further, dict) else self._anything())
        value = {**definitions(schema), "allOf": [only(schema, kind), {"type": kind}]}
        return self._grammar.json(value if sound(json.dumps(value)) else {"type": kind})

    def _array(self, schema: Schema) -> str:
        before, after = self._notation.item
        items = schema.get("items", {})
        one = self.value(items, after) if isinstance(items, dict) and items else self._item(after)
        one = f"{literal(before)} {one}"
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        if high == 0:
            return self._between(self._notation.items, "")
        more = f"({self._separator} {one}){{{max(0, low - 1)},{'' if high is None else high - 1}}}"
        row = f"{one} {more}"
        return self._between(self._notation.items, row if low else f"({row})?")

    def _item(self, end: str) -> str:
        return self._any({}, end)

    def _map(self, value: str) -> str:
        one = " ".join((_NAME, literal(":"), value))
        return self._between(self._notation.members, f"({one} ({self._separator} {one})*)?")

    def _members(self, schema: Schema, keys: tuple[str, ...]) -> str:
        """From the last member to the first: what may come where nothing stands before it, and what
        may follow another one."""
        required = schema.get("required", [])
        first, further = "", ""
        for name, each in reversed(_properties(schema).items()):
            if not self._notation.names(name, first=keys == self._notation.first_keys):
                continue
            end = self._notation.after.replace("{key}", name)
            ways = " | ".join(literal(key.replace("{key}", name)) for key in keys)
            one = self._grammar.rule(f"({ways}) {self.value(each, end)}")
            here, next = f"{one} {further}", f"{self._separator} {one}"
            if isinstance(required, list) and name in required:
                first, further = here, self._grammar.rule(f"{next} {further}")
            else:
                first = self._grammar.rule(f"({here}) | ({first})" if first else f"({here})?")
                further = self._grammar.rule(f"({next})? {further}")
        return first

    @property
    def _separator(self) -> str:
        return literal(self._notation.separator)

    def _between(self, pair: tuple[str, str], inside: str) -> str:
        return f"{literal(pair[0])} {inside} {literal(pair[1])}"


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _listed(schema: Schema) -> list[Any] | None:
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    return listed if isinstance(listed, list) else None
