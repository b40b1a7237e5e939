"""Calls whose arguments are no JSON, written at random within their grammar, and read again."""

import json
import random
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.odd_tokens import SHOWN, OddTokens, allowed, plain, wander

from hubserve_engine.constraints.calls import writable
from hubserve_engine.constraints.constraints import Constraints
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.constraints.tools import Tools
from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Scanner
from hubserve_engine.profiles import PLAIN
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import Chat, Message, Rendered, Request, ToolUse

MODEL = OddTokens()
OWN = ["function-gemma", "gemma", "lfm2", "minimax-m3"]
each_format = pytest.mark.parametrize("format", OWN)

SHORT = {"type": "string", "maxLength": 4}
MEMBERS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "short": {"type": "string", "minLength": 2, "maxLength": 4},
    "listed": {"enum": ["a", "it's", 'say "b"', "null", "12", ""]},
    "mixed": {"enum": ["a", 1, True, None]},
    "number": {"type": "number", "minimum": -2, "maximum": 9.5},
    "whole": {"type": "integer", "minimum": 1, "maximum": 30},
    "on": {"type": "boolean"},
    "off": {"const": False},
    "nothing": {"type": "null"},
    "maybe": {"type": ["string", "null"], "maxLength": 3},
    "either": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 99}]},
    "texts": {"type": "array", "items": SHORT, "minItems": 1, "maxItems": 3},
    "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "few": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    "none": {"type": "array", "items": {"type": "boolean"}, "maxItems": 0},
    "object": {
        "type": "object",
        "properties": {"a": SHORT, "b": {"type": "integer"}, "c": {"type": "boolean"}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "optional": {"type": "object", "properties": {"a": SHORT, "b": {"type": "boolean"}}},
    "no_object": {
        "anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "null"}]
    },
    "list_or_text": {"type": ["array", "string"], "items": {"type": "integer"}, "maxLength": 3},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "free": {"type": "object"},
    "anything": {},
    "tree": {"$ref": "#/$defs/tree"},
    "pattern": {"type": "string", "pattern": "^[a-z]{2}-\\d$"},
    "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, SHORT], "items": False},
}
TREE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "left": {"$ref": "#/$defs/tree"},
        "more": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2},
    },
    "required": ["value"],
    "additionalProperties": False,
}


def tool(*members: str, required: tuple[str, ...]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {name: MEMBERS[name] for name in members},
        "required": list(required),
        "additionalProperties": False,
        "$defs": {"tree": TREE},
    }
    return {"type": "function", "function": {"name": "odd", "parameters": schema}}


@cache
def constraints(format: str) -> Constraints:
    return Constraints(MODEL.backend, PLAIN, FORMATS[format], SHOWN)


def guide(made: dict[str, Any], format: str, use: ToolUse) -> GrammarGuide:
    request = Request(Chat((Message("user", "hi"),), tools=(made,)), tool_use=use)
    (found,) = constraints(format).guides(
        request, Rendered("", thinking_open=False), may_think=True, room=10**6
    )
    return found


def read(made: dict[str, Any], format: str, use: ToolUse, text: str, size: int) -> list[Any]:
    """The arguments of the calls in a text that comes in pieces."""
    scanner = Scanner(FORMATS[format], Offer((made,), use))
    pieces = [p for at in range(0, len(text), size) for p in scanner.feed(text[at : at + size])]
    pieces += scanner.finish(stopped=True)
    found: list[str] = []
    for piece in pieces:
        assert isinstance(piece, Call), (text, piece)
        if piece.name is not None:
            found.append("")
        found[-1] += piece.arguments
    return [json.loads(each) for each in found]


def begin(held: GrammarGuide, text: str) -> list[int]:
    tokens = MODEL.tokenize(text, add_special=False, parse_special=True)
    for token in tokens:
        held.accept(token)
        assert held.error is None
    return tokens


@each_format
@pytest.mark.parametrize("name", MEMBERS)
def test_what_a_grammar_lets_through_is_read_as_what_the_schema_wants(
    name: str, format: str
) -> None:
    """Where it cannot be held to, the common layout is used where a call is required."""
    made = tool("whole", name, "short", required=(name,))
    schema = made["function"]["parameters"]
    ended = 0
    for seed in range(12):
        numbers = random.Random(seed)
        use = ToolUse("required", parallel=False)
        written, whole = wander(guide(made, format, use), numbers, likes=plain)
        text = MODEL.text(written).decode("utf-8", "replace")
        if not whole:
            continue
        ended += 1
        (arguments,) = read(made, format, use, text, len(text))
        Draft202012Validator(schema).validate(arguments)
        assert read(made, format, use, text, numbers.randint(1, 5)) == [arguments], text
    assert ended > 1


@each_format
def test_any_of_the_members_may_be_missing_but_those_that_are_required(format: str) -> None:
    made = tool("whole", "on", "short", required=("on",))
    layout = FORMATS[format].layouts[0]
    use = ToolUse("required", parallel=False)
    for members, fits in (
        ({"whole": 3, "on": True, "short": "ab"}, True),
        ({"on": False}, True),
        ({"on": True, "short": "it's"}, True),
        ({"whole": 3, "on": True}, True),
        ({"whole": 3, "short": "ab"}, False),
        ({"whole": 31, "on": True}, False),
        ({"whole": 3, "on": "True!"}, False),
        ({"on": True, "short": "a"}, False),
        ({"on": True, "more": 1}, False),
        ({}, False),
    ):
        text = layout.written([("", "odd", members)])
        held = guide(made, format, use)
        for token in MODEL.tokenize(text, add_special=False, parse_special=True):
            held.accept(token)
        assert (held.error is None and MODEL.end_tokens <= set(allowed(held))) == fits, text
        assert not fits or read(made, format, use, text, 3) == [members]


@each_format
def test_a_call_that_the_model_begins_is_held_in_its_own_format(format: str) -> None:
    made = tool("text", "object", "texts", required=("text", "object"))
    layout = FORMATS[format].layouts[0]
    use = ToolUse("auto", strict=True)
    start = layout.written([("", "odd", {})]).partition("odd")[0] + "odd"
    ended = 0
    for seed in range(8):
        held = guide(made, format, use)
        begun = begin(held, f"I look.\n{start}")
        written, whole = wander(held, random.Random(seed), likes=plain)
        if whole:
            ended += 1
            text = MODEL.text([*begun, *written]).decode("utf-8", "replace")
            for arguments in read(made, format, use, text.removeprefix("I look.\n"), 4):
                Draft202012Validator(made["function"]["parameters"]).validate(arguments)
    assert ended > 1


@each_format
def test_what_has_no_way_to_be_written_comes_in_the_common_layout(format: str) -> None:
    schema = {"type": "object", "properties": {"a <b>:": {"type": "integer"}}}
    made = {"type": "function", "function": {"name": "odd", "parameters": schema}}
    (offered,) = Tools().callable((made,), ToolUse())
    assert writable(FORMATS[format], (offered,)) == FORMATS["generic"].layouts[0]
    assert writable(FORMATS[format]) == FORMATS[format].layouts[0]
    guide(made, format, ToolUse(strict=True))
