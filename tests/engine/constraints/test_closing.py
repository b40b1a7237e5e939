"""Answers of a model that ends nothing: at their limit they are whole."""

import json
import random
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.odd_tokens import SHOWN, OddTokens, allowed, wander

from hubserve_engine.constraints import closing
from hubserve_engine.constraints.constraints import Constraints
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Scanner
from hubserve_engine.profiles import PLAIN
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import Chat, Constraint, Message, Rendered, Request, ToolUse
from hubserve_server.eval.fitting import misfit

MODEL = OddTokens()
ROOM = 600
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "place": {"type": "object", "properties": {"town": {"type": "string"}}},
        "unit": {"enum": ["c", "f"]},
    },
    "required": ["text", "count", "unit"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "note", "parameters": PARAMETERS}}
PROMPT = Rendered("", thinking_open=False)


@pytest.fixture(autouse=True)
def of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tag takes dozens of this vocabulary's tokens."""
    monkeypatch.setattr(closing, "MOST", 450)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[closing.Way | None]:
    """What was found each time that a way was looked for."""
    found: list[closing.Way | None] = []
    find = closing.Closer.way

    def way(self: closing.Closer, *arguments: Any) -> closing.Way | None:
        found.append(find(self, *arguments))
        return found[-1]

    monkeypatch.setattr(closing.Closer, "way", way)
    return found


def babbling(token: int) -> float:
    """Likes letters, digits, and what begins things."""
    if token < 256 and (chr(token).isalnum() or token in b" ,[{"):
        return 1
    return 0.01 if token == ord('"') else 0.0001


def guide(request: Request, room: int, format: str = "hermes") -> GrammarGuide:
    known = Constraints(MODEL.backend, PLAIN, FORMATS[format], SHOWN)
    (found,) = known.guides(request, PROMPT, may_think=False, room=room)
    return found


def required(format: str, room: int = ROOM) -> GrammarGuide:
    use = ToolUse("required", parallel=False)
    chat = Chat((Message("user", "hi"),), tools=(TOOL,))
    return guide(Request(chat, tool_use=use), room, format)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_call_that_has_to_come_is_whole_at_the_limit(format: str) -> None:
    closed = 0
    for seed in range(2):
        held = required(format)
        written, ended = wander(held, random.Random(seed), most=ROOM, likes=babbling)
        assert ended or held.done, MODEL.text(written)
        closed += held.closed
        scanner = Scanner(FORMATS[format], Offer((TOOL,), ToolUse("required", parallel=False)))
        text = MODEL.text(written).decode("utf-8", "replace")
        pieces = [*scanner.feed(text), *scanner.finish(stopped=True)]
        assert all(isinstance(piece, Call) for piece in pieces), pieces
        arguments = "".join(piece.arguments for piece in pieces if isinstance(piece, Call))
        Draft202012Validator(PARAMETERS).validate(json.loads(arguments))
    assert closed


def test_any_structured_answer_is_whole_at_the_limit() -> None:
    lines = files("hubserve_server.eval").joinpath("schemas.jsonl").read_text().splitlines()
    cut = []
    for seed, line in enumerate(lines):
        case = json.loads(line)
        try:
            chat = Chat((Message("user", "hi"),))
            held = guide(Request(chat, constraint=Constraint("json_schema", case["schema"])), ROOM)
        except InvalidRequest:
            continue
        written, ended = wander(held, random.Random(seed), most=ROOM, likes=babbling)
        if ended or held.done:
            assert misfit(case["schema"], MODEL.text(written).decode()) is None
        else:
            cut.append(case["title"])
    assert len(cut) < 4, cut


def test_an_answer_that_fits_is_left_alone() -> None:
    held = guide(Request(Chat((Message("user", "hi"),)), constraint=Constraint("json_object")), 14)
    for token in b'{"a": "bcd"':
        assert not held.closed
        assert token in allowed(held)
        held.accept(token)
    held.accept(ord("}"))
    assert held.done and not held.closed


def test_without_room_for_the_least_answer_it_is_cut_off(looks: list[closing.Way | None]) -> None:
    held = required("hermes", 40)
    _, ended = wander(held, random.Random(1), most=40, likes=babbling)
    assert not ended and not held.closed and held.error is None
    assert 0 < len(looks) < 15  # each takes long


def test_a_call_that_may_come_and_a_grammar_of_the_clients_are_cut_off() -> None:
    """Half a file is not to be written by an agent; and what is the least of a grammar?"""
    chat = Chat((Message("user", "hi"),), tools=(TOOL,))
    for held in (
        guide(Request(chat, tool_use=ToolUse(strict=True)), ROOM),
        guide(Request(chat, constraint=Constraint("regex", "[a-z]*x")), ROOM),
    ):
        _, ended = wander(held, random.Random(3), most=ROOM, likes=babbling)
        assert not ended and not held.closed


def test_what_is_written_in_spite_of_a_way_to_the_end_breaks_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    asked = Request(Chat((Message("user", "hi"),)), constraint=Constraint("json_schema", schema))
    held = guide(asked, 40)
    for token in b'{"a": "b':
        held.accept(token)
    while not held.closed:
        held.accept(ord("c"))
    held.accept(ord("d"))
    assert not held.closed and held.error is None


def test_a_way_that_takes_too_long_to_find_is_looked_for_once(
    monkeypatch: pytest.MonkeyPatch, looks: list[closing.Way | None]
) -> None:
    """The steps of all streams wait for it."""
    monkeypatch.setattr(closing, "_MOST_SECONDS", 0)
    held = required("hermes")
    _, ended = wander(held, random.Random(1), most=ROOM, likes=babbling)
    assert not ended and not held.closed and held.error is None
    assert len(looks) == 1
