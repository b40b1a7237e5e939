"""Arguments between tags, one after the other, held to a schema."""

import json
from collections.abc import Iterator
from typing import Any

from hubserve_engine.constraints.grammar import Grammar, literal, pattern
from hubserve_engine.constraints.probe import sound
from hubserve_engine.json_schema import TYPES, json_type, resolved
from hubserve_engine.tool_formats.layout import TaggedArguments

_OF_ALL = frozenset(
    (
        "$ref",
        "allOf",
        "anyOf",
        "const",
        "enum",
        "maxProperties",
        "minProperties",
        "oneOf",
        "patternProperties",
    )
)
"""Keywords that say something of the arguments as a whole."""
_OF_TEXTS = frozenset(("allOf", "anyOf", "format", "oneOf", "pattern"))
"""Keywords that a text between tags cannot be held to."""
_LENGTHS = frozenset(("const", "enum", "maxLength", "minLength"))
_NOTES = frozenset(("$defs", "definitions", "default", "description", "examples", "title"))
_MOST_STEPS = 64


def holds(schema: dict[str, Any]) -> bool:
    """Whether arguments between tags can be held to all that the schema says of them."""
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    if _OF_ALL & schema.keys() or (schema.get("additionalProperties") and not named):
        return False
    if isinstance(required, list) and any(name not in [*named] for name in required):
        return False
    return all(
        not set(name) & set("<>\"'=\n") and _holds(list(_branches(each, schema)))
        for name, each in named.items()
    )


def _holds(branches: list[dict[str, Any]]) -> bool:
    """Whether a value between tags can be held to one of these, and is read as what it was."""
    texts = [each for each in branches if "string" in _kinds(each)]
    others = {kind for each in branches for kind in _kinds(each)} - {"string", "null"}
    mistaken = _OF_TEXTS | _LENGTHS if others else _OF_TEXTS
    return not any(mistaken & each.keys() for each in texts)


def tagged(grammar: Grammar, format: TaggedArguments, schema: dict[str, Any]) -> str:
    """An expression for the arguments in the order of the schema; optional ones may be missing."""
    properties = schema.get("properties")
    required = schema.get("required")
    parts = []
    for name, each in properties.items() if isinstance(properties, dict) else ():
        one = grammar.rule(_argument(grammar, format, name, _branches(each, schema)))
        parts.append(one if isinstance(required, list) and name in required else f"{one}?")
    return " ".join(parts)


def _argument(
    grammar: Grammar, format: TaggedArguments, name: str, branches: Iterator[dict[str, Any]]
) -> str:
    options = []
    for schema, kind in ((each, kind) for each in branches for kind in _kinds(each)):
        start = literal(format.before(name, kind))
        if kind == "string":
            options.append(f"{start} {_text(grammar, schema, format.value[1])}")
        else:
            value = {**_definitions(schema), "allOf": [_only(schema, kind), {"type": kind}]}
            if sound(json.dumps(value)):
                options.append(f"{start} {grammar.json(value)} {literal(format.value[1])}")
            else:
                options.append(f"{start} {grammar.until(format.value[1])}")
    return " | ".join(dict.fromkeys(options))


def _only(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """The schema with those alone of its listed values that are of this type."""
    if "const" in schema or not isinstance(listed := schema.get("enum"), list):
        return schema
    return {**schema, "enum": [value for value in listed if json_type(value) == kind]}


def _text(grammar: Grammar, schema: dict[str, Any], end: str) -> str:
    """A string as it is, and its end."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(listed, list):
        texts = [literal(each) for each in listed if isinstance(each, str)]
        if texts:
            return f"({' | '.join(texts)}) {literal(end)}"
    low, high = schema.get("minLength"), schema.get("maxLength")
    if isinstance(low, int) or isinstance(high, int):
        size = f"{{{low or 0},{'' if high is None else high}}}"
        return grammar.rule(f"/(?s:.){size}{pattern(end)}/", attribute="[lazy]")
    return grammar.until(end)


def _kinds(schema: dict[str, Any]) -> list[str]:
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
            kinds = [kind for each in options if isinstance(each, dict) for kind in _kinds(each)]
            return list(dict.fromkeys(kinds))
    return ["object"] if "properties" in schema or "$ref" in schema else ["string"]


def _branches(schema: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
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
    (keyword, *more) = schema.keys() - _NOTES or {""}
    options = schema.get(keyword) if not more else None
    if not isinstance(options, list) or (keyword == "allOf" and len(options) > 1):
        return []
    return options if keyword in ("anyOf", "oneOf", "allOf") else []


def _rooted(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A property's schema with what it may refer to."""
    known = resolved(schema, root)
    return {**_definitions(root), **(known if isinstance(known, dict) else {})}


def _definitions(root: dict[str, Any]) -> dict[str, Any]:
    return {key: root[key] for key in ("$defs", "definitions") if key in root}
