"""Which tools a request offers, and how they may be called."""

import json
from typing import Any

import pytest

from hubserve_engine.errors import InvalidRequest
from hubserve_engine.types import ToolUse
from hubserve_server.body import parse
from hubserve_server.translate.tool_use import tool_use, tools
from hubserve_server.wire.chat import ChatRequest


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


TOOLS = [tool("look"), tool("tell")]
FUNCTIONS = [each["function"] for each in TOOLS]


def wire(**fields: Any) -> ChatRequest:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    return parse(ChatRequest, json.dumps(body).encode())


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ToolUse()),
        ("auto", ToolUse()),
        ("none", ToolUse("none")),
        ("required", ToolUse("required")),
        ("any", ToolUse("required")),
        (named("look"), ToolUse("required", ("look",))),
        ({"type": "function", "name": "look"}, ToolUse("required", ("look",))),
        ({"type": "auto"}, ToolUse()),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("tell")]}},
            ToolUse("auto", ("tell",)),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [named("look"), named("tell")]},
            ToolUse("required", ("look", "tell")),
        ),
    ],
)
def test_every_form_of_a_choice(choice: object, expected: ToolUse) -> None:
    assert tool_use(wire(tools=TOOLS, tool_choice=choice)) == expected


def test_the_older_form_has_one_call_at_most() -> None:
    found = tool_use(wire(functions=FUNCTIONS, function_call={"name": "look"}))
    assert found == ToolUse("required", ("look",), parallel=False)
    assert tools(wire(functions=FUNCTIONS)) == tuple(TOOLS)
    assert tools(wire(functions=FUNCTIONS, function_call="none")) == ()


def test_one_call_and_strict_calls() -> None:
    assert not tool_use(wire(tools=TOOLS, parallel_tool_calls=False)).parallel
    assert tool_use(wire(tools=TOOLS, parallel_tool_calls=None)).parallel
    assert tool_use(wire(tools=[tool("look", strict=True)])).strict


def test_tools_are_shown_unless_the_choice_is_none() -> None:
    assert tools(wire(tools=TOOLS, tool_choice=named("look"))) == tuple(TOOLS)
    assert tools(wire(tools=TOOLS, tool_choice="none")) == ()


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (named("run"), "'run', which is not among those in 'tools': look, tell"),
        ({"type": "allowed_tools", "allowed_tools": {"tools": [named("run")]}}, "look, tell"),
        ({"type": "allowed_tools", "allowed_tools": {}}, "needs 'tools'"),
        ({"type": "allowed_tools", "mode": "x", "tools": [named("look")]}, "the 'mode'"),
        ({"type": "function"}, "must name a function"),
        ({"type": "function", "function": {"name": 3}}, "must name a function"),
        ({"type": "custom"}, "'custom'"),
        ("always", "'always'"),
    ],
)
def test_a_choice_that_cannot_be_kept_is_refused(choice: object, told: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        tool_use(wire(tools=TOOLS, tool_choice=choice))
    assert caught.value.param == "tool_choice"
    assert told in caught.value.message


def test_a_forced_call_needs_something_to_call() -> None:
    with pytest.raises(InvalidRequest, match="offers nothing"):
        tool_use(wire(tool_choice="required"))
    assert tool_use(wire(tool_choice="none")) == ToolUse("none")
