"""Calls that are objects of JSON."""

import json
from typing import Any

import pytest
from tests.engine.output.test_scanner import TOOLS

from hubserve_engine.output.object_reading import ObjectReading
from hubserve_engine.output.offer import Offer
from hubserve_engine.tool_formats.layout import JsonBody
from hubserve_engine.types import ToolUse

PARIS = {"city": "Paris"}
OFFER = Offer(TOOLS, ToolUse())


def read(text: str, body: JsonBody, *, strict: bool, size: int) -> tuple[str, Any, str]:
    """Its state, its arguments, and what followed."""
    reading = ObjectReading(body, OFFER, strict=strict)
    out = ""
    for at in range(0, len(text), size):
        out += reading.feed(text[at : at + size])
        if reading.state != "open":
            return reading.state, json.loads(out or "null"), reading.rest + text[at + size :]
    return reading.state, json.loads(out) if reading.state == "done" else None, ""


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "get_weather", "arguments": {"city": "Paris"}}',
        '{"name": "get_weather", "parameters": {"city": "Paris"}}',
        '{"arguments": {"city": "Paris"}, "name": "get_weather"}',
        '{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}',
        '{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}',
        '{"function": "get_weather", "args": {"city": "Paris"}}',
        '{"id": "a", "name": "functions.get_weather", "arguments": {"city": "Paris"}, "index": 0}',
        "{'name': 'get_weather', 'arguments': {'city': 'Paris'}}",
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_call_in_each_form(text: str, strict: bool) -> None:
    for size in (1, 4, len(text)):
        assert read(text + " so", JsonBody(), strict=strict, size=size) == ("done", PARIS, " so")


def test_no_arguments_are_an_empty_object() -> None:
    for text in ('{"name": "get"}', '{"name": "get", "arguments": null}'):
        assert read(text, JsonBody(), strict=True, size=3) == ("done", {}, "")


def test_the_name_may_be_the_key() -> None:
    text = '{"get_weather": {"city": "Paris"}}'
    assert read(text, JsonBody(name=""), strict=True, size=2) == ("done", PARIS, "")
    assert read('{"other": {"a": 1}}', JsonBody(name=""), strict=True, size=2)[0] == "failed"


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Paris"}',
        '{"name": "delete_all", "arguments": {}}',
        '{"name": ' + "9" * 5000 + "}",
        '{"name": ["get"]}',
        '{"name": "get_weather", "arguments": "Paris"}',
        '{"' + "x" * 500,
        "{1: 2}",
        "[1]",
        "x",
        '{"type": "function"}',
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_no_call(text: str, strict: bool) -> None:
    for size in (1, len(text)):
        assert read(text, JsonBody(), strict=strict, size=size)[0] == "failed"


def test_more_than_a_call_has_is_taken_from_the_models_own_format_alone() -> None:
    text = '{"name": "get_weather", "arguments": {"city": "Paris"}, "mood": {"a": 1}}'
    assert read(text, JsonBody(), strict=False, size=5) == ("done", PARIS, "")
    assert read(text, JsonBody(), strict=True, size=5)[0] == "failed"


def test_a_bracket_that_was_forgotten() -> None:
    text = '{"name": "get_weather", "arguments": {"city": "Paris"}\n</tool_call>'
    assert read(text, JsonBody(), strict=False, size=3) == ("done", PARIS, "</tool_call>")
    reading = ObjectReading(JsonBody(), OFFER, strict=False)
    reading.feed('{"name": "get_weather", "arguments": {"city": "Paris"')
    assert reading.finish(stopped=True) == '"}' and reading.state == "done"
    reading = ObjectReading(JsonBody(), OFFER, strict=False)
    reading.feed('{"name": "get_weather", "arguments": {"city": "Par')
    assert reading.finish(stopped=True) == "" and reading.state == "failed"
