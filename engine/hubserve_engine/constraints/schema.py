"""JSON Schemas before they become grammars: said otherwise where that is exact, and else refused.

llguidance 1.9 holds most of JSON Schema. What it does not is listed here, so that an error can name
the keyword and its place, and so that a tool's schema can do without that keyword alone.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_engine.json_schema import TYPES, Schema, resolved, schema_type, written

LARGEST = 128 * 1024
"""Bytes of a schema as JSON. Real ones have a few thousand."""
DEEPEST = 100
"""Keywords and names that lead to a schema within a schema."""
_MOST_LEVELS = 120
"""Lists and objects within each other, values included. llguidance reads 128."""

_UNSUPPORTED = frozenset(
    (
        "not",
        "if",
        "then",
        "else",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
        "unevaluatedItems",
        "$dynamicRef",
        "$recursiveRef",
        "additionalItems",
    )
)
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems", "items")
_SINGLE = ("items", "additionalProperties")
_TRIVIAL: dict[str, Any] = {"uniqueItems": False, "minContains": 1, "unevaluatedProperties": True}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A keyword that was left out of a schema, and where it stood, as a JSON pointer."""

    keyword: str
    place: str

    def __str__(self) -> str:
        return f"{self.keyword!r} at {self.place!r}"


def exact(value: Any, *, param: str) -> Schema:
    """The same schema in words that llguidance knows.

    Raises Unsupported, with the keyword and its place, or InvalidRequest for what is no schema.
    """
    schema = _checked(value, param)
    said = _Saying(schema)
    result: Schema = said.of(schema)
    for dropped in said.dropped:
        raise Unsupported(f"The schema has {dropped}, which cannot be held to.", param=param)
    return result


def relaxed(value: Any, *, param: str) -> tuple[Schema, list[Dropped]]:
    """The schema without what cannot be held to, and what that is. Raises InvalidRequest."""
    schema = _checked(value, param)
    said = _Saying(schema)
    return said.of(schema), said.dropped


def places(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Every schema in a schema, itself first, and where it stands."""
    waiting: list[tuple[str, Any]] = [("#", schema)]
    while waiting:
        place, each = waiting.pop()
        if not isinstance(each, dict):
            continue
        yield place, each
        waiting.extend(_children(place, each))


def without(schema: Schema, keyword: str, place: str) -> Schema:
    """A copy in which the keyword is missing at that place."""

    def walk(at: str, each: Any) -> Any:
        if not isinstance(each, dict):
            return each
        kept = {k: v for k, v in each.items() if at != place or k != keyword}
        return _mapped(at, kept, walk)

    result: Schema = walk("#", schema)
    return result


def _checked(value: Any, param: str) -> Schema:
    if value is True:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequest("The schema must be an object.", param=param)
    try:
        size = len(json.dumps(value))
    except (RecursionError, ValueError):
        size = LARGEST + 1
    if size > LARGEST or _depth(value) > DEEPEST or _levels(value) > _MOST_LEVELS:
        raise InvalidRequest(
            f"The schema is too large: at most {LARGEST // 1024} KiB of JSON, places of {DEEPEST}"
            f" keywords and names, and values of {_MOST_LEVELS} levels can be held to.",
            param=param,
        )
    return value


def _depth(schema: Schema) -> int:
    return max(place.count("/") for place, _ in places(schema))


def _levels(value: Any) -> int:
    """How deep lists and objects are within each other."""
    levels, row = 0, [value]
    while row := [each for each in row if isinstance(each, list | dict)]:
        levels += 1
        row = [x for each in row for x in (each.values() if isinstance(each, dict) else each)]
    return levels


def _children(place: str, schema: Schema) -> Iterator[tuple[str, Any]]:
    for keyword in _NAMED:
        named = schema.get(keyword)
        for name, each in named.items() if isinstance(named, dict) else ():
            yield f"{place}/{keyword}/{_pointer(name)}", each
    for keyword in _LISTS:
        listed = schema.get(keyword)
        for index, each in enumerate(listed) if isinstance(listed, list) else ():
            yield f"{place}/{keyword}/{index}", each
    for keyword in _SINGLE:
        if isinstance(each := schema.get(keyword), dict):
            yield f"{place}/{keyword}", each


def _mapped(place: str, schema: Schema, change: Callable[[str, Any], Any]) -> Schema:
    """A copy whose schemas one level down are changed."""
    result = dict(schema)
    for keyword in _NAMED:
        if isinstance(named := schema.get(keyword), dict):
            result[keyword] = {
                name: change(f"{place}/{keyword}/{_pointer(name)}", each)
                for name, each in named.items()
            }
    for keyword in _LISTS:
        if isinstance(listed := schema.get(keyword), list):
            result[keyword] = [
                change(f"{place}/{keyword}/{index}", each) for index, each in enumerate(listed)
            ]
    for keyword in _SINGLE:
        if isinstance(each := schema.get(keyword), dict):
            result[keyword] = change(f"{place}/{keyword}", each)
    return result


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class _Saying:
    """Says one schema otherwise; `dropped` is what it could not say."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.dropped: list[Dropped] = []

    def of(self, schema: Any, place: str = "#") -> Any:
        if not isinstance(schema, dict):
            return schema
        result = {k: v for k, v in schema.items() if self._keeps(k, v, place)}
        result = _mapped(place, result, lambda at, each: self.of(each, at))
        if isinstance(schema.get("oneOf"), list):
            self._one_of(result, schema["oneOf"], place)
        if schema.get("nullable") is True:
            result = _or_null(result)
        return result

    def _keeps(self, keyword: str, value: Any, place: str) -> bool:
        if keyword in ("x-guidance", "nullable", "discriminator"):
            return False
        if keyword not in _UNSUPPORTED or (keyword in _TRIVIAL and _TRIVIAL[keyword] == value):
            return keyword not in _TRIVIAL
        self.dropped.append(Dropped(keyword, place))
        return False

    def _one_of(self, result: Schema, options: list[Any], place: str) -> None:
        """Exactly one of several is any of them where no value fits two."""
        said = result.pop("oneOf")
        pairs = ((a, b) for i, a in enumerate(options) for b in options[:i])
        if len(options) > 64 or not all(self._disjoint(a, b) for a, b in pairs):
            self.dropped.append(Dropped("oneOf", place))
        if "anyOf" in result:
            parts = result.get("allOf", [])
            result["allOf"] = [*(parts if isinstance(parts, list) else [parts]), {"anyOf": said}]
        else:
            result["anyOf"] = said

    def _disjoint(self, one: Any, other: Any) -> bool:
        a, b = self._resolved(one), self._resolved(other)
        if not (_types(a) & _types(b)):
            return True
        mine, others = _values(a), _values(b)
        if mine is not None and others is not None:
            return not mine & others
        if _types(a) & _types(b) != {"object"}:
            return False
        shared = set(_required(a)) & set(_required(b))
        for name in shared:
            x, y = (_values(self._resolved(_property(each, name))) for each in (a, b))
            if x is not None and y is not None and not x & y:
                return True
        return False

    def _resolved(self, schema: Any) -> Schema:
        found = resolved(schema, self._root)
        return found if isinstance(found, dict) else {}


def _types(schema: Schema) -> set[str]:
    values = _values(schema)
    if values is not None:
        return {schema_type(json.loads(value)) for value in values}
    said = schema.get("type", list(TYPES))
    named = [said] if isinstance(said, str) else said
    types = {each for each in named if isinstance(each, str)} if isinstance(named, list) else set()
    return types | {"integer"} if "number" in types else types


def _values(schema: Schema) -> set[str] | None:
    """The values that it allows at most, as JSON; None if they are not listed."""
    if "const" in schema:
        return {written(schema["const"])}
    if isinstance(listed := schema.get("enum"), list):
        return {written(value) for value in listed}
    return None


def _property(schema: Schema, name: str) -> Any:
    properties = schema.get("properties")
    return properties.get(name) if isinstance(properties, dict) else None


def _required(schema: Schema) -> list[str]:
    required = schema.get("required")
    return [n for n in required if isinstance(n, str)] if isinstance(required, list) else []


def _or_null(schema: Schema) -> Schema:
    """OpenAPI's way to allow null."""
    roots = ("$defs", "definitions")
    definitions: Schema = {key: value for key, value in schema.items() if key in roots}
    rest = {key: value for key, value in schema.items() if key not in roots}
    return {**definitions, "anyOf": [rest, {"type": "null"}]}
