"""What one value may be: the alternatives of its schema, and the types of each."""

from collections.abc import Iterator
from typing import Any

from hubserve_engine.json_schema import TYPES, json_type, resolved

NOTES = frozenset(("$defs", "definitions", "default", "description", "examples", "title"))
"""Keywords that say nothing of a value."""
_MOST_STEPS = 64


def only(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """The schema with those alone of its listed values that are of this type."""
    if "const" in schema or not isinstance(listed := schema.get("enum"), list):
        return schema
    return {**schema, "enum": [value for value in listed if json_type(value) == kind]}


def kinds(schema: dict[str, Any]) -> list[str]:
    """The types that a value may have; where nothing is said, a text."""
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return list(dict.fromkeys(json_type(value) for value in values))
    said = schema.get("type")
    if isinstance(said, str):
        return [said if said in TYPES else "string"]
    if isinstance(said, list):
        return [kind for kind in said if isinstance(kind, str) and kind in TYPES] or ["string"]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(options := schema.get(keyword), list):
            found = [kind for each in options if isinstance(each, dict) for kind in kinds(each)]
            return list(dict.fromkeys(found))
    return ["object"] if "properties" in schema or "$ref" in schema else ["string"]


def branches(schema: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a property may be: the alternatives of its schema, where that is all it says."""
    todo, steps = [schema], 0
    while todo:
        known = _rooted(todo.pop(), root)
        steps += 1
        options = _options(known) if steps < _MOST_STEPS else []
        todo.extend(reversed(options))
        if not options:
            yield known


def _options(schema: dict[str, Any]) -> list[Any]:
    """The schemas of which a value has to fit one, if it has to fit no more than that."""
    (keyword, *more) = schema.keys() - NOTES or {""}
    options = schema.get(keyword) if not more else None
    if not isinstance(options, list) or (keyword == "allOf" and len(options) > 1):
        return []
    return options if keyword in ("anyOf", "oneOf", "allOf") else []


def _rooted(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A property's schema with what it may refer to."""
    known = resolved(schema, root)
    return {**definitions(root), **(known if isinstance(known, dict) else {})}


def unnamed(schema: dict[str, Any]) -> bool:
    """Whether an object may have, or needs, members that are not named in its `properties`."""
    named, required = schema.get("properties"), schema.get("required")
    known = named if isinstance(named, dict) else {}
    if isinstance(required, list) and any(name not in [*known] for name in required):
        return True
    further = schema.get("additionalProperties")
    return not known and bool(further if named is not None else further is not False)


def definitions(root: dict[str, Any]) -> dict[str, Any]:
    return {key: root[key] for key in ("$defs", "definitions") if key in root}
