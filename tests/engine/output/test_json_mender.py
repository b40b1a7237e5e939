"""JSON as models write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.output.json_mender import JsonMender, mended, value_text
from hubserve_engine.output.shape import Shape

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "list": {"type": "array", "items": {"type": "integer"}},
        "object": {"type": "object", "properties": {"count": {"$ref": "#/$defs/count"}}},
    },
    "$defs": {"count": {"type": "integer"}},
}
SHAPE = Shape.arguments(SCHEMA)


def in_pieces(text: str, cut: list[int], **options: Any) -> tuple[str, bool, str]:
    mender = JsonMender(SHAPE, **options)
    out, at, number = "", 0, 0
    while at < len(text):
        size = cut[number % len(cut)]
        out += mender.feed(text[at : at + size])
        at, number = at + size, number + 1
    done, rest = mender.done, mender.rest
    return out + mender.finish(), done, rest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"text": "a\nb\tc"}', {"text": "a\nb\tc"}),
        ("{'text': 'it''s', \"flag\": True}", {"text": "it''s", "flag": True}),
        ("{'text': 'it's here'}", {"text": "it's here"}),
        ('{"text": "print("hi")"}', {"text": 'print("hi")'}),
        ('{"text": "it\\\'s"}', {"text": "it's"}),
        ('{"text": "a\\d \\u12"}', {"text": "a\\d \\u12"}),
        ('{"text": "a",}', {"text": "a"}),
        ('{"list": [1, 2, ]}', {"list": [1, 2]}),
        ('{"text": "a"\n"count": 1}', {"text": "a", "count": 1}),
        ("{text: hello, count: 3}", {"text": "hello", "count": 3}),
        ('{"maybe": None, "flag": False}', {"maybe": None, "flag": False}),
        ('{"text": "a", "list": [1, 2}', {"text": "a", "list": [1, 2]}),
        ('{"text": "a", "object": {"count": 1}', {"text": "a", "object": {"count": 1}}),
        ('{"text": "a"', {"text": "a"}),
        ('{"text": "a", "list": [', {"text": "a", "list": []}),
        ('{"text": }', {"text": None}),
        ("{", {}),
    ],
)
def test_what_has_one_meaning_is_mended(text: str, expected: dict[str, Any]) -> None:
    assert json.loads(mended(text, SHAPE)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"count": "3"}', {"count": 3}),
        ('{"count": 3.0}', {"count": 3}),
        ('{"share": "0.5", "flag": "true"}', {"share": 0.5, "flag": True}),
        ('{"text": 3}', {"text": "3"}),
        ('{"text": true}', {"text": "true"}),
        ('{"text": {"a": [1]}}', {"text": '{"a": [1]}'}),
        ('{"maybe": "null"}', {"maybe": None}),
        ('{"list": "[1, 2]"}', {"list": [1, 2]}),
        ('{"list": ["1", 2]}', {"list": [1, 2]}),
        ('{"object": "{\\"count\\": \\"4\\"}"}', {"object": {"count": 4}}),
        ('{"object": {"count": "4"}}', {"object": {"count": 4}}),
        ('{"count": "many"}', {"count": "many"}),
        ('{"other": "3"}', {"other": "3"}),
    ],
)
def test_values_have_the_types_that_are_wanted(text: str, expected: dict[str, Any]) -> None:
    assert json.loads(mended(text, SHAPE)) == expected


def test_halves_of_characters_can_be_sent() -> None:
    for text in ('{"count": "\\ud83d"}', '{"\\ud83d": 1}'):
        mended(text, SHAPE).encode()
    made = JsonMender(SHAPE, python=True).feed("text='\\U0000d83d \\U99999999')")
    made.encode()


def test_a_string_streams_and_its_end_waits_for_what_follows() -> None:
    mender = JsonMender(SHAPE)
    assert mender.feed('{"text": "one ') == '{"text": "one '
    assert mender.feed('two"') == "two"
    assert mender.feed(" there") == '\\" there'
    assert mender.feed('"') == ""
    assert mender.feed("} and more") == '"}'
    assert mender.done and mender.rest == " and more"


def test_a_tag_ends_what_was_forgotten_to_be_closed() -> None:
    mender = JsonMender(SHAPE)
    made = mender.feed('{"list": [1, 2</tool_call>')
    assert json.loads(made) == {"list": [1, 2]}
    assert mender.done and mender.rest == "</tool_call>"


def test_other_quotation_marks_and_python() -> None:
    mender = JsonMender(SHAPE, quote="<|q|>")
    assert json.loads(mender.feed('{text:<|q|>a "b" \\n<|q|>,count:3}')) == {
        "text": 'a "b" \\n',
        "count": 3,
    }
    mender = JsonMender(SHAPE, python=True)
    made = mender.feed("text='a', list=[1, 2], object={'count': 1}, maybe=None) rest")
    assert json.loads(made) == {
        "text": "a",
        "list": [1, 2],
        "object": {"count": 1},
        "maybe": None,
    }
    assert mender.rest == " rest"


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)
parts = st.sampled_from([*"{}[]:,'\"\\ \n<)=", "null", "true", "3", "text", '"text"', "\\u00e9"])
garbage = st.lists(parts | st.text(max_size=3), max_size=20).map("".join)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
documents = st.recursive(
    leaves | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(garbage, sizes, st.sampled_from(['"', "<|q|>"]), st.booleans())
def test_any_text_is_some_json_and_pieces_do_not_matter(
    text: str, cut: list[int], quote: str, python: bool
) -> None:
    read = in_pieces(text, cut, quote=quote, python=python)
    assert read == in_pieces(text, [max(len(text), 1)], quote=quote, python=python)
    json.loads(read[0])


@given(documents, st.sampled_from([None, 2]))
def test_sound_json_stays_as_it_is(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert mended(text) == text


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("3", {"type": "string"}, "3"),
        ("3", {"type": "integer"}, 3),
        ("3", {}, 3),
        ("03", {}, "03"),
        ("True", {"type": "boolean"}, True),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("{'a': None}", {"type": "object"}, {"a": None}),
        ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
        ('{"a": 1}', {}, {"a": 1}),
        ("{a", {}, "{a"),
        ("null", {"type": ["string", "null"]}, None),
        ("nothing", {"type": ["string", "null"]}, "nothing"),
        ("7", {"enum": [7, 8]}, 7),
        ("x", {"type": "integer"}, "x"),
    ],
)
def test_plain_text_as_a_value(text: str, schema: dict[str, Any], expected: Any) -> None:
    assert json.loads(value_text(text, Shape.of(schema))) == expected
