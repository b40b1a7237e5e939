"""Arguments between tags, one after the other, held to a schema."""

from typing import Any

from hubserve_engine.constraints.grammar import Grammar, literal, pattern
from hubserve_engine.json_schema import json_type, resolved
from hubserve_engine.tool_formats.layout import TaggedArguments


def tagged(grammar: Grammar, format: TaggedArguments, schema: dict[str, Any]) -> str:
    """An expression for the arguments in the order of the schema; optional ones may be missing."""
    properties = schema.get("properties")
    required = schema.get("required")
    parts = []
    for name, each in properties.items() if isinstance(properties, dict) else ():
        one = grammar.rule(_argument(grammar, format, name, _rooted(each, schema)))
        parts.append(one if isinstance(required, list) and name in required else f"{one}?")
    return " ".join(parts)


def _argument(grammar: Grammar, format: TaggedArguments, name: str, schema: dict[str, Any]) -> str:
    options = []
    for kind in _kinds(schema):
        start = literal(format.before(name, kind))
        if kind == "string":
            options.append(f"{start} {_text(grammar, schema, format.value[1])}")
        else:
            value = grammar.json({**_definitions(schema), "allOf": [schema, {"type": kind}]})
            options.append(f"{start} {value} {literal(format.value[1])}")
    return " | ".join(options)


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
        return [said]
    if isinstance(said, list):
        return [kind for kind in said if isinstance(kind, str)]
    for keyword in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(keyword), list):
            kinds = [kind for each in options if isinstance(each, dict) for kind in _kinds(each)]
            return list(dict.fromkeys(kinds))
    return ["object"] if "properties" in schema or "$ref" in schema else ["string"]


def _rooted(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A property's schema with what it may refer to."""
    known = resolved(schema, root)
    return {**_definitions(root), **(known if isinstance(known, dict) else {})}


def _definitions(root: dict[str, Any]) -> dict[str, Any]:
    return {key: root[key] for key in ("$defs", "definitions") if key in root}
