"""What a JSON Schema wants at one place, as far as reading values needs it."""

import json
from collections.abc import Iterator
from typing import Any

from hubserve_engine.json_schema import TYPES, Schema, resolved, schema_type

_MOST = 64  # alternatives of one place


class Shape:
    """A place in a document: the alternatives that the schema has for it.

    `types` are the JSON types that may stand there, None where any may. Nothing here raises,
    however strange the schema is: what is not understood allows anything.
    """

    def __init__(self, schemas: list[Any], root: Any) -> None:
        self._root = root
        self._schemas = list(_alternatives(schemas, root))
        self.types = _types(self._schemas)

    @classmethod
    def of(cls, schema: Any) -> "Shape":
        return cls([schema], schema)

    @classmethod
    def arguments(cls, schema: Any) -> "Shape":
        """The arguments of a function: an object, whatever its schema leaves out."""
        shape = cls.of(schema)
        shape.types = frozenset(("object",))
        return shape

    @property
    def text_only(self) -> bool:
        """Whether a string stands here, and nothing that could be mistaken for one."""
        return self.types == frozenset(("string",))

    @property
    def takes_text(self) -> bool:
        return self.types is None or "string" in self.types

    def property(self, key: str) -> "Shape":
        found: list[Any] = []
        for schema in self._schemas:
            named = schema.get("properties")
            by_pattern = schema.get("patternProperties")
            if isinstance(named, dict) and key in named:
                found.append(named[key])
            elif isinstance(by_pattern, dict) and by_pattern:
                found.append({})
            elif "additionalProperties" in schema:
                found.append(schema["additionalProperties"])
        return Shape(found or [{}], self._root)

    def item(self) -> "Shape":
        found = [schema["items"] for schema in self._schemas if "items" in schema]
        return Shape(found or [{}], self._root)


def _alternatives(schemas: list[Any], root: Any) -> Iterator[Schema]:
    """The schemas that one value may fit, references and combinations resolved."""
    todo, seen = list(reversed(schemas)), 0
    while todo and seen < _MOST:
        seen += 1
        schema = resolved(todo.pop(), root)
        if not isinstance(schema, dict):
            if schema is not False:
                yield {}
            continue
        choices = [*_list(schema.get("anyOf")), *_list(schema.get("oneOf"))]
        parts = [part for part in _list(schema.get("allOf")) if isinstance(part, dict)]
        if choices:
            todo.extend(reversed(choices))
            if "properties" in schema:
                yield schema
        elif parts:
            todo.extend(reversed(parts))
            if "properties" in schema or "type" in schema:
                yield schema
        else:
            yield schema


def _types(schemas: list[Schema]) -> frozenset[str] | None:
    found: set[str] = set()
    for schema in schemas:
        named = schema.get("type")
        names = [named] if isinstance(named, str) else _list(named)
        types = {name.lower() for name in names if isinstance(name, str)} & TYPES
        if not types:
            values = [*_list(schema.get("enum")), *([schema["const"]] if "const" in schema else ())]
            types = {schema_type(value) for value in values}
        if not types and "properties" in schema:
            types = {"object"}
        if not types:
            return None
        found |= types
        if schema.get("nullable") is True:
            found.add("null")
    return frozenset(found) or None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
