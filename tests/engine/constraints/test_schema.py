"""Schemas said in words that can be held to, or refused with the keyword and its place."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.constraints.schema import exact, places, relaxed, without
from hubserve_engine.errors import InvalidRequest, Unsupported


@pytest.mark.parametrize(
    ("schema", "keyword", "place"),
    [
        ({"not": {"type": "string"}}, "not", "#"),
        ({"properties": {"a/b": {"uniqueItems": True}}}, "uniqueItems", "#/properties/a~1b"),
        ({"$defs": {"x": {"items": {"contains": {}}}}}, "contains", "#/$defs/x/items"),
        ({"anyOf": [{}, {"if": {}, "then": {}}]}, "if", "#/anyOf/1"),
        (
            {"additionalProperties": {"propertyNames": {}}},
            "propertyNames",
            "#/additionalProperties",
        ),
        ({"dependentRequired": {"a": ["b"]}}, "dependentRequired", "#"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties", "#"),
        ({"oneOf": [{"type": "object"}, {"type": "object"}]}, "oneOf", "#"),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "oneOf", "#"),
        ({"oneOf": [{"enum": [1.0]}, {"enum": [1, 2]}]}, "oneOf", "#"),
        ({"oneOf": [{"const": [1, 2.0]}, {"const": [1.0, 2]}]}, "oneOf", "#"),
    ],
)
def test_what_cannot_be_held_to_is_named_with_its_place(
    schema: Any, keyword: str, place: str
) -> None:
    with pytest.raises(Unsupported) as refused:
        exact(schema, param="response_format")
    assert f"{keyword!r} at {place!r}" in refused.value.message
    assert refused.value.param == "response_format"
    loose, dropped = relaxed(schema, param="tools")
    assert (keyword, place) in [(each.keyword, each.place) for each in dropped]
    exact(loose, param="tools")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (True, {}),
        ({"uniqueItems": False, "type": "array"}, {"type": "array"}),
        ({"type": "string", "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"x-guidance": {"lenient": True}, "type": "object"}, {"type": "object"}),
        ({"properties": {"not": {"type": "string"}}}, {"properties": {"not": {"type": "string"}}}),
        ({"enum": [{"not": 1}]}, {"enum": [{"not": 1}]}),
    ],
)
def test_what_can_be_said_otherwise_is(schema: Any, said: Any) -> None:
    assert exact(schema, param="p") == said


def test_the_other_branches_of_a_one_of_that_are_apart_are_all_kept() -> None:
    by_kind = [
        {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]}
        for kind in "abc"
    ]
    by_type: list[dict[str, Any]] = [{"type": "string"}, {"type": "integer"}, {"enum": [None, 0.5]}]
    pointed = {
        "$defs": {kind: each for kind, each in zip("abc", by_kind, strict=True)},
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in "abc"],
        "discriminator": {"propertyName": "kind"},
    }
    assert exact({"oneOf": by_kind}, param="p") == {"anyOf": by_kind}
    assert exact({"oneOf": by_type}, param="p") == {"anyOf": by_type}
    assert exact(pointed, param="p")["anyOf"] == pointed["oneOf"]


def test_a_one_of_beside_an_any_of_holds_both() -> None:
    schema = {"oneOf": [{"type": "string"}, {"type": "null"}], "anyOf": [{"minLength": 3}]}
    said = exact(schema, param="p")
    assert said == {"anyOf": [{"minLength": 3}], "allOf": [{"anyOf": schema["oneOf"]}]}


def test_only_the_keyword_goes_that_cannot_be_held_to() -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "uniqueItems": True, "minItems": 2}},
    }
    said, _ = relaxed(schema, param="tools")
    assert said["properties"]["tags"] == {"type": "array", "minItems": 2}
    assert schema["properties"]["tags"]["uniqueItems"] is True  # type: ignore[index]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        nested(200),
        nested(100_000),
        {"oneOf": [{"const": nested(400)}, {"const": 1}]},
        {"enum": ["x" * 2**20]},
        [1],
        "string",
        False,
        None,
    ],
)
def test_what_is_no_schema_or_too_large_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidRequest):
        exact(schema, param="p")


def test_a_schema_in_itself_is_no_endless_walk() -> None:
    schema = {
        "$defs": {"a": {"$ref": "#/$defs/a"}},
        "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}],
    }
    with pytest.raises(Unsupported):
        exact(schema, param="p")


def test_places_and_what_is_taken_away_there() -> None:
    schema = {"properties": {"a": {"pattern": "x"}}, "items": [{"pattern": "y"}]}
    assert dict(places(schema))["#/items/0"] == {"pattern": "y"}
    assert without(schema, "pattern", "#/items/0") == {
        "properties": {"a": {"pattern": "x"}},
        "items": [{}],
    }


KEYWORDS = ("anyOf", "allOf", "properties", "required", "type", "enum", "$ref")
leaves: st.SearchStrategy[Any] = st.sampled_from([None, 1, "a", "object", "#", "#/properties/a"])
values = leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.just("a"), leaves)
schemas = st.dictionaries(st.sampled_from(KEYWORDS), values, max_size=4)


@settings(max_examples=60)
@given(schemas, schemas, schemas)
def test_no_schema_is_too_strange(outer: Any, one: Any, other: Any) -> None:
    objects = [{**each, "type": "object", "required": ["a"]} for each in (one, other)]
    said, _ = relaxed({**outer, "oneOf": objects}, param="p")
    assert "oneOf" not in said
