from typing import Any

import pytest

from hubserve_engine.output.fit import Fit

TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
# A schema of the property "a", a value that fits, one that does not, and what is said of it.
RELAXED: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({"not": {"const": 1}}, 2, 1, "'not' at '/a'"),
    ({"uniqueItems": True}, [1, "1"], [{"x": 1}, {"x": 1.0}], "'uniqueItems' at '/a'"),
    ({"uniqueItems": True}, [True, 1, 0, False], [[1], [2], [1]], "'uniqueItems' at '/a'"),
    ({"contains": {"const": 1}}, [2, 1], [2], "'contains' at '/a'"),
    ({"contains": {}, "maxContains": 1}, [2], [2, 3], "'maxContains' at '/a'"),
    (
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}},
        "ab",
        1,
        "'minimum' at '/a'",
    ),
    ({"propertyNames": {"pattern": "^x"}}, {"xy": 1}, {"y": 1}, "'pattern' at '/a'"),
    ({"oneOf": [{"minimum": 2}, {"maximum": 4}]}, 1, 3, "'oneOf' at '/a'"),
    ({"pattern": r"^(?!.*\.\.)[\w.]+$"}, "a.b", "a..b", "'pattern' at '/a'"),
    ({"patternProperties": {"^(?!_)": {"type": "integer"}}}, {"_a": "x"}, {"a": "x"}, "/a/a"),
    (
        {"patternProperties": {"^x": {}}, "properties": {"y": {}}, "additionalProperties": False},
        {"xa": 1, "y": 2},
        {"z": 1},
        "'additionalProperties' at '/a'",
    ),
    ({"dependentRequired": {"x": ["y"]}}, {"y": 1}, {"x": 1}, "'dependentRequired' at '/a'"),
    ({"dependentSchemas": {"x": {"required": ["y"]}}}, {"y": 1}, {"x": 1}, "'required' at '/a'"),
    ({"dependencies": {"x": ["y"]}}, {"y": 1}, {"x": 1}, "'dependencies' at '/a'"),
    (
        {"allOf": [{"properties": {"x": {}}}], "unevaluatedProperties": False},
        {"x": 1},
        {"y": 1},
        "'unevaluatedProperties' at '/a'",
    ),
]


@pytest.mark.parametrize(("schema", "right", "wrong", "said"), RELAXED, ids=str)
def test_what_no_grammar_holds_is_seen_in_finished_arguments(
    schema: dict[str, Any], right: Any, wrong: Any, said: str
) -> None:
    fit = Fit({"type": "object", "properties": {"a": schema}})
    assert fit.misfit({"a": right}) is None
    misfit = fit.misfit({"a": wrong})
    assert misfit is not None
    assert said in misfit


def test_a_guess_need_not_fit_patterns() -> None:
    fit = Fit({"properties": {"a": {"type": "string", "pattern": "^b$"}, "b": TEXTS}})
    assert fit.guessed({"a": "c"})
    assert not fit.guessed({"a": 1})
    assert fit.misfit({"a": "c"}) == "'pattern' at '/a'"
    assert fit.misfit({"b": ["x", 2]}) == "'type' at '/b/1'"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "nullable": True}, None),
        ({"enum": ["a"], "nullable": True}, None),
        ({"minimum": 0, "exclusiveMinimum": False}, 0),
        ({"type": "string", "format": "duration"}, "an hour"),
    ],
)
def test_words_of_other_drafts_are_understood(schema: dict[str, Any], value: Any) -> None:
    fit = Fit({"properties": {"a": schema}})
    assert fit.guessed({"a": value})
    assert fit.misfit({"a": value}) is None


def test_a_look_ends_whatever_the_schema() -> None:
    branching = {
        "$defs": {
            f"d{n}": {
                "dependentSchemas": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "ab"},
                "unevaluatedProperties": True,
            }
            for n in range(40)
        },
        "$ref": "#/$defs/d0",
    }
    assert Fit(branching).misfit({"a": 1, "b": 2}) is None
    slow = {"items": {"pattern": "^[a-z]*[a-z]*[0-9]$"}}
    assert Fit({"properties": {"a": slow}}).misfit({"a": ["a" * 300 + "1"] * 100_000}) is None
    listed = {"items": {"enum": [f"value {n}" for n in range(10_000)]}}
    assert Fit({"properties": {"a": listed}}).misfit({"a": ["value 9999"] * 100_000}) is None


def test_a_pattern_that_could_take_too_long_is_let_pass_alone_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = {"type": "string", "pattern": "^(b|(a+)+)$"}
    for _ in range(2):
        fit = Fit({"properties": {"a": slow, "b": {"type": "integer"}}})
        assert fit.misfit({"a": "a" * 60 + "!", "b": 1}) is None
        assert fit.misfit({"a": "a" * 60 + "!", "b": "x"}) == "'type' at '/b'"
    (line,) = caplog.messages
    assert slow["pattern"] in line
