"""What an answer has to be, in each of the ways in which clients say it."""

import json
from typing import Any

import pytest

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_engine.types import Constraint
from hubserve_server.translate.constraint import constraint
from hubserve_server.wire.sampling import Generating

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def translate(**fields: Any) -> Constraint | None:
    return constraint(Generating.model_validate(fields))


@pytest.mark.parametrize(
    ("fields", "kind", "value", "param"),
    [
        ({"response_format": {"type": "json_object"}}, "json_object", None, "response_format"),
        (
            {"response_format": {"type": "json_object", "schema": SCHEMA}},
            "json_schema",
            SCHEMA,
            "response_format.schema",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
            "json_schema",
            SCHEMA,
            "response_format.json_schema.schema",
        ),
        (
            {"response_format": {"type": "json_schema", "schema": SCHEMA}},
            "json_schema",
            SCHEMA,
            "response_format.schema",
        ),
        ({"json_schema": SCHEMA}, "json_schema", SCHEMA, "json_schema"),
        ({"json_schema": {}}, "json_schema", {}, "json_schema"),
        ({"grammar": "root ::= x"}, "gbnf", "root ::= x", "grammar"),
        ({"guided_json": json.dumps(SCHEMA)}, "json_schema", SCHEMA, "guided_json"),
        ({"guided_regex": "a+"}, "regex", "a+", "guided_regex"),
        ({"guided_choice": ["a", "b"]}, "choice", ("a", "b"), "guided_choice"),
        ({"guided_grammar": "root ::= x"}, "gbnf", "root ::= x", "guided_grammar"),
        (
            {"structured_outputs": {"json": SCHEMA, "regex": None}},
            "json_schema",
            SCHEMA,
            "structured_outputs.json",
        ),
        ({"structured_outputs": {"regex": "a"}}, "regex", "a", "structured_outputs.regex"),
        ({"structured_outputs": {"choice": ["a"]}}, "choice", ("a",), "structured_outputs.choice"),
        ({"structured_outputs": {"grammar": "g"}}, "gbnf", "g", "structured_outputs.grammar"),
        (
            {"structured_outputs": {"json_object": True}},
            "json_object",
            None,
            "structured_outputs.json_object",
        ),
    ],
)
def test_every_way_to_say_it(fields: Any, kind: Any, value: Any, param: str) -> None:
    assert translate(**fields) == Constraint(kind, value, param)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"response_format": {"type": "text"}},
        {"response_format": None, "grammar": "", "json_schema": None, "guided_regex": ""},
        {"structured_outputs": {"json": None, "json_object": False, "backend": "auto"}},
    ],
)
def test_nothing_said_is_nothing(fields: Any) -> None:
    assert translate(**fields) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"grammar": "x", "json_schema": {}},
        {"response_format": {"type": "json_object"}, "guided_choice": ["a"]},
        {"structured_outputs": {"json": SCHEMA, "regex": "a"}},
    ],
)
def test_two_at_once_are_refused(fields: Any) -> None:
    with pytest.raises(InvalidRequest, match="both say"):
        translate(**fields)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": [1]}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": {"json_schema": {"schema": SCHEMA}}}, "response_format.type"),
        ({"response_format": {"schema": SCHEMA}}, "response_format.type"),
        ({"json_schema": "{"}, "json_schema"),
        ({"json_schema": "[" * 100_000}, "json_schema"),
        ({"grammar": {"type": "gbnf"}}, "grammar"),
        ({"guided_choice": "a"}, "guided_choice"),
        ({"guided_choice": []}, "guided_choice"),
        ({"guided_choice": [1]}, "guided_choice"),
        ({"guided_regex": 5}, "guided_regex"),
        ({"structured_outputs": {"grammar": 5}}, "structured_outputs.grammar"),
    ],
)
def test_what_is_wrong_is_named(fields: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        translate(**fields)
    assert refused.value.param == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": {"type": "grammar"}}, "response_format.type"),
        (
            {"structured_outputs": {"structural_tag": "{}"}},
            "structured_outputs.structural_tag",
        ),
        ({"structured_outputs": {"regexp": "a+"}}, "structured_outputs"),
        ({"structured_outputs": {"json": SCHEMA, "enum": ["a"]}}, "structured_outputs"),
    ],
)
def test_what_is_not_kept_is_refused(fields: Any, param: str) -> None:
    with pytest.raises(Unsupported) as refused:
        translate(**fields)
    assert refused.value.param == param
