from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.output.shape import Shape

DEEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "node": {"$ref": "#/$defs/node"},
        "maybe": {"type": "integer", "nullable": True},
        "union": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/node"}]},
        "all": {"allOf": [{"type": "number"}]},
        "const": {"const": 3},
        "loop": {"$ref": "#/properties/loop"},
        "gone": {"$ref": "#/$defs/gone"},
        "far": {"$ref": "https://example.com/schema"},
    },
    "additionalProperties": {"type": "boolean"},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}},
        }
    },
}


@pytest.mark.parametrize(
    ("key", "types"),
    [
        ("node", {"object"}),
        ("maybe", {"integer", "null"}),
        ("union", {"string", "object"}),
        ("all", {"number"}),
        ("const", {"integer"}),
        ("other", {"boolean"}),
        ("loop", None),
        ("gone", None),
        ("far", None),
    ],
)
def test_the_types_of_a_place(key: str, types: set[str] | None) -> None:
    assert Shape.of(DEEP).property(key).types == types


def test_references_are_followed_as_deep_as_the_document_goes() -> None:
    shape = Shape.of(DEEP).property("node")
    for _ in range(50):
        shape = shape.property("next")
    assert shape.property("name").text_only


def test_items_and_everything_else() -> None:
    assert Shape.of({"type": "array", "items": {"type": "integer"}}).item().types == frozenset(
        ("integer",)
    )
    assert Shape.of({}).property("a").item().types is None
    assert Shape.of({}).takes_text and not Shape.of({}).text_only
    assert Shape.arguments({}).types == frozenset(("object",))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "allOf", "$ref", "enum", "a"]),
            inner | st.sampled_from(["object", "#", "#/a", "#/properties/a", "array"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(values)
def test_no_schema_is_too_strange(schema: Any) -> None:
    shape = Shape.of(schema)
    for found in (shape, shape.property("a"), shape.item(), shape.property("a").property("a")):
        assert found.types is None or found.types
