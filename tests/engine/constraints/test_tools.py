"""What a tool's schema is held to, and what is said where it is not."""

from typing import Any

import pytest

from hubserve_engine.constraints.tools import Tools
from hubserve_engine.types import ToolUse

RELAXED: list[tuple[str, dict[str, Any]]] = [
    ("not", {"type": "string", "not": {"const": "x"}}),
    ("uniqueItems", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    ("contains", {"type": "array", "contains": {"const": 1}}),
    ("if", {"type": "string", "if": {"minLength": 2}, "then": {"maxLength": 4}}),
    ("propertyNames", {"type": "object", "propertyNames": {"maxLength": 3}}),
    ("oneOf", {"oneOf": [{"type": "object", "required": ["x"]}, {"type": "object"}]}),
    ("pattern", {"type": "string", "pattern": "^(?!x)", "maxLength": 9}),
    ("format", {"type": "string", "format": "colour", "maxLength": 9}),
    ("patternProperties", {"type": "object", "patternProperties": {"^(?!x)": {}}}),
]


def held(schema: Any, tools: Tools) -> dict[str, Any]:
    offered = [{"function": {"name": "paint", "parameters": schema}}]
    (found,) = tools.callable(offered, ToolUse())
    return found.parameters


@pytest.mark.parametrize(("keyword", "schema"), RELAXED, ids=lambda each: str(each)[:20])
def test_a_tool_does_without_that_keyword_alone_and_the_log_says_so_once(
    keyword: str, schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    properties = {"a": schema, "b": {"type": "integer", "minimum": 3}}
    whole = {"type": "object", "properties": properties, "required": ["a"]}
    tools = Tools()
    for _ in range(2):
        left = held(whole, tools)
        assert keyword not in left["properties"]["a"]
        assert left["required"] == ["a"]
        assert left["properties"]["b"] == properties["b"]
        kept = schema.keys() - {keyword, "then"}
        assert kept <= left["properties"]["a"].keys()
    (line,) = caplog.messages
    assert "calls of 'paint' are not held to all of its schema" in line
    assert f"{keyword!r} at '#/properties/a'" in line


def test_a_schema_that_can_be_held_to_is_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}}
    assert held(schema, Tools()) == schema
    assert held(None, Tools())["additionalProperties"] is False
    assert not caplog.messages


def test_a_tool_does_without_members_of_which_there_are_too_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    members = {f"member{number}": {"type": "integer"} for number in range(900)}
    wide = {"type": "object", "properties": members, "additionalProperties": False}
    left = held(
        {"type": "object", "properties": {"a": wide, "b": {"type": "integer"}}, "required": ["b"]},
        Tools(),
    )
    assert left["properties"]["b"] == {"type": "integer"}
    assert "properties" not in left["properties"]["a"]
    assert left["required"] == ["b"]
    assert "'properties' at '#/properties/a'" in caplog.text
