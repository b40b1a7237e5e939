from typing import Any

import pytest

from hubserve_engine.output.offer import Offer
from hubserve_engine.types import ToolUse


def tool(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("get"), tool("get_weather"), tool("look.up"), tool("functions.list")]


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("get_weather\n", "get_weather", "\n"),
        ("get(", "get", "("),
        ("functions.get:0", "get", ":0"),
        ("look.up{", "look.up", "{"),
        ("functions.list{", "functions.list", "{"),
        ("functions.functions.list{", "functions.list", "{"),
    ],
)
def test_a_name_is_met_at_the_start_of_a_text(text: str, name: str, rest: str) -> None:
    found = Offer(TOOLS, ToolUse()).begins(text)
    assert isinstance(found, tuple)
    assert (found[0].name, found[1]) == (name, rest)


def test_more_text_may_be_needed_and_may_be_in_vain() -> None:
    offer = Offer(TOOLS, ToolUse())
    for text in ("", "g", "get", "get_weather", "func", "functions.", "functions.get"):
        assert offer.begins(text) == ""
    for text in ("x", "get_time", "get_weathers ", "get-", "functions.x"):
        assert offer.begins(text) is None


def test_only_what_is_allowed_is_offered() -> None:
    offer = Offer(TOOLS, ToolUse(allowed=("get",)))
    assert offer.find("get") and not offer.find("get_weather")
    assert offer.find("functions.get")
    assert not Offer(TOOLS, ToolUse("none"))
    assert not Offer([], ToolUse())


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^(a+)+$", "minLength": 2},
        "kind": {"enum": ["a", "b"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"city": "Paris"}, True),
        ({"city": "a" * 60 + "!"}, True),
        ({"city": 3}, False),
        ({"town": "Paris"}, False),
        ({"city": "Paris", "kind": "c"}, False),
        ({}, False),
        ([], False),
        ("Paris", False),
    ],
)
def test_arguments_fit_where_a_look_is_quick(arguments: Any, fits: bool) -> None:
    """A pattern may take for ever, so it is not looked at."""
    found = Offer([tool("f", SCHEMA)], ToolUse()).find("f")
    assert found and found.takes(arguments) is fits


def test_a_strict_tool_takes_no_more_than_its_schema_does() -> None:
    schema = {**SCHEMA, "properties": {"city": {"type": "string", "pattern": "^[a-z]+$"}}}
    found = Offer([tool("f", schema)], ToolUse(strict=True)).find("f")
    assert found and found.takes({"city": "paris"})
    for arguments in ({"city": "Paris"}, {"city": "paris", "more": 1}):
        assert not found.takes(arguments)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "nonsense"},
        {"$ref": "#/gone"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "#"},
        {"properties": 3},
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_takes_all(schema: Any) -> None:
    found = Offer([tool("f", schema)], ToolUse()).find("f")
    assert found and found.takes({"a": 1})


def test_a_look_ends_whatever_the_schema() -> None:
    """Patterns that take for ever, and schemas within schemas without a number."""
    slow = {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}
    loops: dict[str, Any] = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}] * 2}}}
    loops["$defs"] |= {"b": {"allOf": [{"$ref": "#/$defs/c"}] * 9}, "c": {"$ref": "#/$defs/a"}}
    many = {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}}
    schemas = (slow, {**slow, "unevaluatedProperties": False}, {**loops, "$ref": "#/$defs/a"})
    for schema in (*schemas, {**many, "$ref": "#/$defs/d0"}):
        found = Offer([tool("f", schema)], ToolUse()).find("f")
        assert found and found.takes({"a" * 60 + "!": 1}) is True
        assert found.takes("text") is False
