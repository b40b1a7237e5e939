"""Arguments between tags, one after the other, held to a schema."""

import json
from collections.abc import Iterator
from typing import Any

from hubserve_engine.constraints.branches import branches, definitions, kinds, only, unnamed
from hubserve_engine.constraints.grammar import Grammar, literal, pattern
from hubserve_engine.constraints.patterns import size, text, whole
from hubserve_engine.constraints.probe import sound
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
_OF_TEXTS = frozenset(("allOf", "anyOf", "format", "oneOf"))
"""Keywords that a text between tags cannot be held to."""
_LENGTHS = frozenset(("const", "enum", "maxLength", "minLength", "pattern"))


def holds(schema: dict[str, Any]) -> bool:
    """Whether arguments between tags can be held to all that the schema says of them."""
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    if _OF_ALL & schema.keys() or unnamed(schema):
        return False
    return all(
        not set(name) & set("<>\"'=\n") and _holds(list(branches(each, schema)))
        for name, each in named.items()
    )


def _holds(alternatives: list[dict[str, Any]]) -> bool:
    """Whether a value between tags can be held to one of these, and is read as what it was."""
    texts = [each for each in alternatives if "string" in kinds(each)]
    others = {kind for each in alternatives for kind in kinds(each)} - {"string", "null"}
    mistaken = _OF_TEXTS | _LENGTHS if others else _OF_TEXTS
    return not any(
        mistaken & each.keys() or ("pattern" in each and whole(each["pattern"]) is None)
        for each in texts
    )


def tagged(grammar: Grammar, format: TaggedArguments, schema: dict[str, Any]) -> str:
    """An expression for the arguments in the order of the schema; optional ones may be missing."""
    properties = schema.get("properties")
    required = schema.get("required")
    parts = []
    for name, each in properties.items() if isinstance(properties, dict) else ():
        one = grammar.rule(_argument(grammar, format, name, branches(each, schema)))
        parts.append(one if isinstance(required, list) and name in required else f"{one}?")
    return " ".join(parts)


def _argument(
    grammar: Grammar, format: TaggedArguments, name: str, alternatives: Iterator[dict[str, Any]]
) -> str:
    options = []
    for schema, kind in ((each, kind) for each in alternatives for kind in kinds(each)):
        start = literal(format.before(name, kind))
        if kind == "string":
            options.append(f"{start} {_text(grammar, schema, format.value[1])}")
        else:
            value = {**definitions(schema), "allOf": [only(schema, kind), {"type": kind}]}
            if sound(json.dumps(value)):
                options.append(f"{start} {grammar.json(value)} {literal(format.value[1])}")
            else:
                options.append(f"{start} {grammar.until(format.value[1])}")
    return " | ".join(dict.fromkeys(options))


def _text(grammar: Grammar, schema: dict[str, Any], end: str) -> str:
    """A string as it is, and its end."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(listed, list):
        texts = [literal(each) for each in listed if isinstance(each, str)]
        if texts:
            return f"{grammar.terminal(' | '.join(texts))} {literal(end)}"
    if "pattern" in schema and whole(schema["pattern"]) is not None:
        fitting = text(schema, without=pattern(end.strip()))
        return grammar.terminal(f"{fitting} {literal(end)}")
    if schema.keys() & {"minLength", "maxLength"}:
        return grammar.rule(f"/(?s:.){size(schema)}{pattern(end)}/", attribute="[lazy]")
    return grammar.until(end)
