"""Where in a schema something stands that llguidance cannot hold to, found by trying it."""

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from llguidance import LLMatcher

from hubserve_engine.constraints.first_steps import failing_schema, wide
from hubserve_engine.constraints.limits import LIMITS
from hubserve_engine.constraints.schema import Dropped, places, without
from hubserve_engine.errors import Unsupported
from hubserve_engine.json_schema import Schema, resolved

_MOST_PLACES = 100
"""Schemas within a schema that are tried one by one."""
_MOST_WIDE = 8
_WIDE = ("properties", "anyOf", "oneOf", "allOf", "prefixItems")


def problem(schema: Schema) -> str | None:
    """Why a schema makes no grammar, in one line, whatever the model; None if it does."""
    source = LLMatcher.grammar_from_json_schema(json.dumps(schema))
    wrong, messages = LLMatcher.validate_grammar_with_warnings(source, limits=LIMITS)
    if wrong:
        return one_line(messages[0])
    return next((reason for _, reason in _overfull(schema)), None)


def placed(schema: Schema, *, param: str) -> None:
    """Raises Unsupported if it makes no grammar, with keyword and place if they are known."""
    reason = problem(schema)
    if reason is None:
        return
    for dropped, why in _suspects(schema):
        raise Unsupported(f"The schema has {dropped}, which cannot be held to: {why}", param=param)
    for place, why in _overfull(schema):
        raise Unsupported(
            f"The schema has more members or alternatives at {place!r} than can be held to: {why}",
            param=param,
        )
    raise Unsupported(f"The schema cannot be held to: {reason}", param=param)


def loosened(schema: Schema) -> tuple[Schema, list[Dropped]]:
    """The schema without what makes no grammar, and what that is; any object, if all of it is."""
    dropped = [
        Dropped("$ref", place)
        for place, each in places(schema)
        if "$ref" in each and resolved(each, schema) == {}  # it leads to itself, or nowhere
    ]
    for each in dropped:
        schema = without(schema, each.keyword, each.place)
    if problem(schema) is not None:
        for each, _ in _suspects(schema):
            schema = without(schema, each.keyword, each.place)
            dropped.append(each)
        for each in _excess(schema):
            schema = without(schema, each.keyword, each.place)
            dropped.append(each)
        if problem(schema) is not None:
            schema, more = _mended(schema)
            dropped += more
        if problem(schema) is not None:
            return {"type": "object"}, [*dropped, Dropped("parameters", "#")]
    return schema, dropped


def _mended(schema: Schema) -> tuple[Schema, list[Dropped]]:
    """The schema without the keywords that keep a place in it from making a grammar, the innermost
    places first; and what those were."""
    dropped: list[Dropped] = []
    found = sorted((place for place, _ in places(schema)), key=_outside)
    for place in found[:_MOST_PLACES]:
        each = dict(places(schema)).get(place, {})
        for keyword in _wrong(each, _definitions(schema)):
            schema = without(schema, keyword, place)
            dropped.append(Dropped(keyword, place))
    return schema, dropped


def _outside(place: str) -> tuple[int, bool]:
    """For sorting: what is inside comes before what it is in, and before what may refer to it."""
    return -place.count("/"), not place.startswith(("#/$defs/", "#/definitions/"))


def _wrong(schema: Schema, definitions: Schema) -> list[str]:
    """The keywords without which a schema makes a grammar: as few as may be, and its type and its
    properties last of all."""
    if problem({**definitions, **schema}) is None:
        return []
    kept: Schema = {}
    for key in dict.fromkeys(("type", "properties", *schema)):
        if key in schema and problem({**definitions, **kept, key: schema[key]}) is None:
            kept[key] = schema[key]
    return [key for key in schema if key not in kept and key not in definitions]


def _definitions(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("$defs", "definitions") if key in schema}


@lru_cache(4096)
def sound(schema: str) -> bool:
    """Whether a schema, as JSON, makes a grammar. Those of tools come again and again."""
    return problem(json.loads(schema)) is None


def one_line(error: str) -> str:
    return " ".join(line.strip() for line in error.splitlines() if line.strip())[:300]


def _overfull(schema: Schema) -> Iterator[tuple[str, str]]:
    """Places at which more may come than llguidance keeps, and its words for that."""
    found = ((place, each) for place, each in places(schema) if wide(each, schema))
    for place, each in islice(found, _MOST_WIDE):
        if reason := failing_schema({**_definitions(schema), **each}):
            yield place, one_line(reason)


def _excess(schema: Schema) -> list[Dropped]:
    """What makes it too much at those places."""
    known = dict(places(schema))
    return [
        Dropped(keyword, place)
        for place, _ in _overfull(schema)
        for keyword in (*_WIDE, "$ref", "additionalProperties")
        if keyword in known[place]
    ]


def _suspects(schema: Schema) -> Iterator[tuple[Dropped, str]]:
    for place, each in places(schema):
        for keyword in ("pattern", "format"):
            if isinstance(value := each.get(keyword), str):
                yield from _tried(keyword, place, {"type": "string", keyword: value})
        named: Any = each.get("patternProperties")
        for name in named if isinstance(named, dict) else ():
            yield from _tried("patternProperties", place, {"type": "string", "pattern": name})


def _tried(keyword: str, place: str, schema: Schema) -> Iterator[tuple[Dropped, str]]:
    reason = problem(schema)
    if reason is not None:
        yield Dropped(keyword, place), reason
