import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.prompt.tool_text import calls_as_text, parse_arguments, tools_told
from hubserve_engine.tool_formats import FORMATS, GENERIC
from hubserve_engine.types import Message, ToolCall

CALL = Message("assistant", "I look", tool_calls=(ToolCall("a", "look", '{"at": 1}'),))


def test_calls_are_written_as_the_model_would_write_them() -> None:
    (made,) = calls_as_text((CALL,), GENERIC)
    expected = 'I look\n\n<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
    assert made == Message("assistant", expected)
    (made,) = calls_as_text((CALL,), FORMATS["qwen-xml"])
    assert made.content and "<function=look>\n<parameter=at>\n1\n</parameter>" in made.content


def test_tools_are_told_in_the_system_message() -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    user = Message("user", "hi")
    told, rest = tools_told((Message("system", "Be brief."), user), (tool,), GENERIC)
    assert rest is user and told.role == "system" and told.content
    assert told.content.startswith("Be brief.\n\n")
    assert '{"name": "look", "parameters": {"type": "object"}}' in told.content
    assert '<tool_call>\n{"name": "function_name"' in told.content


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("null", {}),
        ("{broken", {"_raw": "{broken"}),
        ("[1]", {"_raw": "[1]"}),
        ('"text"', {"_raw": '"text"'}),
        ("[" * 100_000, {"_raw": "[" * 100_000}),
        ("9" * 5000, {"_raw": "9" * 5000}),
    ],
)
def test_arguments_are_always_an_object(text: str, expected: dict[str, object]) -> None:
    assert parse_arguments(text) == expected


@given(st.text())
def test_any_text_is_some_object(text: str) -> None:
    assert isinstance(parse_arguments(text), dict)
