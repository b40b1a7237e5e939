"""Calls in text: in each format, in other shapes, and in any number of pieces."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Scanner, Text
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import ToolUse

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "warm": {"type": "boolean"},
        "places": {"type": "array", "items": {"type": "string"}},
        "more": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "string"}},
        },
    },
    "required": ["city"],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}},
]


@dataclass
class Read:
    """What came of a text, pieces joined."""

    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    whole: int = 0
    cut: str | None = None


def scan(
    text: str,
    format: str = "hermes",
    *,
    sizes: list[int] | None = None,
    stopped: bool = True,
    parallel: bool = True,
) -> Read:
    """Reads the text in pieces of these sizes, over and over."""
    scanner = Scanner(FORMATS[format], Offer(TOOLS, ToolUse(parallel=parallel)))
    pieces = []
    at = 0
    for number in range(len(text)):
        size = sizes[number % len(sizes)] if sizes else len(text)
        pieces += scanner.feed(text[at : at + size])
        at += size
        if at >= len(text):
            break
    pieces += scanner.finish(stopped=stopped)
    read = Read(cut=scanner.cut)
    end = 0
    for piece in pieces:
        assert piece.end >= end
        end = piece.end
        match piece:
            case Text(said):
                read.text += said
            case Call(arguments, _, name, last):
                if name is not None:
                    read.calls.append((name, ""))
                read.calls[-1] = (read.calls[-1][0], read.calls[-1][1] + arguments)
                read.whole += last
    assert end <= len(text)
    return read


def found(read: Read) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in read.calls]


def test_a_call_may_be_cut_in_two_anywhere() -> None:
    """Also where a value begins, with all that is left."""
    text = '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": ""}, "id": "id0"}]'
    for at in range(1, len(text)):
        read = scan(text, "mistral-list", sizes=[at, len(text)])
        assert (read.whole, read.cut, found(read)) == (1, None, [("get_weather", {"city": ""})])


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
values = st.fixed_dictionaries(
    {"city": words},
    optional={
        "days": st.integers(-5, 10**6),
        "warm": st.booleans(),
        "places": st.lists(words, max_size=3),
        "more": st.fixed_dictionaries({}, optional={"a": st.floats(0, 1), "b": words}),
    },
)
calls = st.lists(st.tuples(st.sampled_from(["get_weather"]), values), min_size=1, max_size=3)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=6)
each_format = pytest.mark.parametrize("name", sorted(FORMATS))


def sound(name: str, made: list[tuple[str, dict[str, Any]]]) -> bool:
    """Whether the format can say these arguments: strings without escapes may hold no tags."""
    layout = FORMATS[name].layouts[0]
    said = json.dumps(made, ensure_ascii=False)
    tags = [tag.strip() for text in layout.texts for tag in text.split("\n")]
    return not any(tag[:1] in "<[]|" and tag[:2] in said for tag in tags if tag)


@each_format
@settings(max_examples=15)
@given(made=calls, cut=sizes, before=st.sampled_from(["", "Let me look.", "Hm:\n\n"]))
def test_calls_are_read_as_they_were_written(
    name: str, made: list[tuple[str, dict[str, Any]]], cut: list[int], before: str
) -> None:
    layout = FORMATS[name].layouts[0]
    written = layout.written([(f"id{i}", tool, args) for i, (tool, args) in enumerate(made)])
    gap = "\n" if before else ""
    read = scan(before + gap + written, name, sizes=cut)
    if sound(name, made):
        assert found(read) == made
        assert read.text == before.rstrip()
        assert read.whole == len(made)
    assert read == scan(before + gap + written, name)


def fragments(name: str) -> st.SearchStrategy[str]:
    """Pieces of the format, whole and torn, in any order."""
    texts = [text for layout in FORMATS[name].layouts for text in layout.texts if text]
    loose = ["```json\n", "```", "{", "}", "[", "]", '"', "'", ",", ":", "\n", " ", "\\", "<", "|"]
    keys = ['"name": ', '"get_weather"', '"arguments": ', '"parameters": ', "get", '"city"', "x"]
    written = FORMATS[name].layouts[0].written([("a", "get_weather", {"city": "Rome"})])
    parts = st.sampled_from([*texts, *loose, *keys, written]) | words
    return st.lists(parts, max_size=14).map("".join)


@each_format
@settings(max_examples=40)
@given(data=st.data(), cut=sizes, stopped=st.booleans())
def test_any_text_is_read_alike_in_any_pieces(
    name: str, data: st.DataObject, cut: list[int], stopped: bool
) -> None:
    text = data.draw(fragments(name))
    read = scan(text, name, stopped=stopped)
    assert scan(text, name, sizes=cut, stopped=stopped) == read
    if not read.calls:
        assert read.text == text
    for _, arguments in read.calls[: read.whole]:
        assert isinstance(json.loads(arguments), dict)


@each_format
@settings(max_examples=15)
@given(data=st.data(), made=calls)
def test_a_call_that_is_cut_off_is_none(
    name: str, data: st.DataObject, made: list[tuple[str, dict[str, Any]]]
) -> None:
    written = FORMATS[name].layouts[0].written([("a", *made[0])])
    text = written[: data.draw(st.integers(0, len(written)))]
    read = scan(text, name, stopped=False)
    if read.whole:
        return
    assert (read.cut if read.cut is not None else read.text) == text
