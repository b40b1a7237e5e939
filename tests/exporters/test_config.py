"""config.json, asked by type."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_exporters.config import Config, merged
from hubserve_exporters.errors import ExportError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def test_each_kind_of_value() -> None:
    config = Config({"i": 3, "f": 0.5, "b": True, "s": "x", "l": ["a"], "n": [1, 2], "p": {"i": 4}})
    assert config.integer("i") == config.positive("i") == 3
    assert config.number("i") == 3.0
    assert config.number("f") == 0.5
    assert config.flag("b") is True
    assert config.text("s") == "x"
    assert config.texts("l") == ["a"]
    assert config.integers("n") == [1, 2]
    assert config.numbers("n") == [1.0, 2.0]
    part = config.part("p")
    assert part is not None
    assert part.integer("i") == 4
    assert config.part("none") is None


def test_what_is_missing_or_null_has_the_default() -> None:
    config = Config({"null": None})
    assert "null" not in config
    assert config.integer("null", 5) == config.integer("gone", 5) == 5
    with pytest.raises(ExportError, match=r"config.json has no 'gone', which is needed"):
        config.integer("gone")


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        ("integer", -1),
        ("integer", 2**31),
        ("integer", 1.0),
        ("integer", True),
        ("integer", "7"),
        ("positive", 0),
        ("number", float("nan")),
        ("number", "1"),
        ("number", 10**400),
        ("numbers", [10**400]),
        ("numbers", [float("inf")]),
        ("number", True),
        ("flag", 1),
        ("text", 1),
        ("texts", "abc"),
        ("texts", [1]),
        ("integers", [True]),
        ("integers", [1.5]),
        ("part", [1]),
    ],
)
def test_another_type_is_named_with_its_value(ask: str, value: object) -> None:
    with pytest.raises(ExportError, match=r"config.json: 'key' is .*; it has to be "):
        getattr(Config({"key": value}), ask)("key")


@given(JSON)
def test_any_value_is_given_or_refused(value: Any) -> None:
    for ask in ("integer", "positive", "number", "flag", "text", "texts", "integers", "numbers"):
        try:
            getattr(Config({"key": value}), ask)("key")
        except ExportError as error:
            assert len(str(error)) < 200


def test_a_part_says_where_it_stands() -> None:
    part = Config({"rope": {"factor": "x"}}).part("rope")
    assert part is not None
    with pytest.raises(ExportError, match=r"config.json: rope: 'factor' is 'x'"):
        part.number("factor")


def test_the_text_config_is_over_the_rest() -> None:
    config = merged({"a": 1, "b": 2, "text_config": {"b": 3}})
    assert (config.integer("a"), config.integer("b")) == (1, 3)
