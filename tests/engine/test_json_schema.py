from typing import Any

import pytest

from hubserve_engine.json_schema import json_type, resolved, schema_type, written

ROOT: dict[str, Any] = {
    "$defs": {
        "a/b ü": {"type": "string"},
        "pointer": {"$ref": "#/$defs/a~1b%20%C3%BC"},
        "one": {"$ref": "#/$defs/other"},
        "other": {"$ref": "#/$defs/one"},
        "anything": True,
    },
    "anyOf": [{"type": "null"}, {"type": "integer"}],
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/$defs/pointer", {"type": "string"}),
        ("#/anyOf/1", {"type": "integer"}),
        ("#/$defs/anything", True),
        ("#", ROOT),
        ("#/$defs/one", {}),
        ("#/$defs/none", {}),
        ("#/anyOf/2", {}),
        ("#/anyOf/" + "9" * 5000, {}),
        ("https://example.com/schema", {}),
    ],
)
def test_references_lead_to_what_is_in_the_document(reference: str, found: Any) -> None:
    assert resolved({"$ref": reference}, ROOT) == found


def test_what_is_no_reference_is_itself() -> None:
    for schema in ({"type": "string"}, {"$ref": 3}, True, None):
        assert resolved(schema, ROOT) is schema


@pytest.mark.parametrize(
    ("value", "of_json", "of_schema"),
    [
        (None, "null", "null"),
        (True, "boolean", "boolean"),
        (2, "number", "integer"),
        (2.0, "number", "integer"),
        (2.5, "number", "number"),
        (float("inf"), "number", "number"),
        ("2", "string", "string"),
        ([], "array", "array"),
        ({}, "object", "object"),
    ],
)
def test_a_value_has_a_type(value: Any, of_json: str, of_schema: str) -> None:
    assert (json_type(value), schema_type(value)) == (of_json, of_schema)


def test_values_that_are_equal_are_written_alike() -> None:
    assert written({"a": [1.0, True], "b": None}) == written({"b": None, "a": [1, True]})
    for one, other in ((1, True), (0, False), (1, "1"), (1.5, 1), ([1], [[1]]), ({}, [])):
        assert written(one) != written(other)
    assert written(float("inf")) == written(float("inf"))
