"""The set of schemas, and whether an answer fits one."""

from typing import Any

import pytest
import typer
from jsonschema.validators import validator_for

from hubserve_server.eval.fitting import chosen, load, misfit


def test_the_set_is_two_hundred_sound_schemas() -> None:
    cases = load()
    assert len({case.title for case in cases}) == len(cases) == 200
    for case in cases:
        validator_for(case.schema).check_schema(case.schema)
    text = "".join(str(case.schema) for case in cases)
    for keyword in ("$ref", "$defs", "anyOf", "oneOf", "allOf", "pattern", "format", "nullable"):
        assert keyword in text


def test_some_are_chosen_by_their_titles() -> None:
    cases = load()
    assert chosen(cases, []) == cases
    assert {case.title for case in chosen(cases, ["tuple"])} == {
        "a tuple",
        "a tuple, the older way",
        "a tuple with a rest",
    }
    with pytest.raises(typer.BadParameter, match="'nothing such'"):
        chosen(cases, ["tuple", "nothing such"])


@pytest.mark.parametrize(
    ("schema", "text", "problem"),
    [
        ({"type": "integer"}, "5", None),
        ({"type": "integer"}, '"5"', "is not of type"),
        ({"type": "integer"}, "5 apples", "no JSON"),
        ({"type": "string", "format": "date"}, '"2026-13-01"', "is not a 'date'"),
        ({"type": "string", "nullable": True}, "null", None),
        ({"type": "string", "nullable": False}, "null", "is not of type"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}}, "2", "1 was expected"),
    ],
)
def test_what_does_not_fit_is_named(schema: Any, text: str, problem: str | None) -> None:
    found = misfit(schema, text)
    assert found is None if problem is None else problem in (found or "")
