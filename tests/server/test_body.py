"""Bodies become shapes, or a 400 that names the field."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_server.body import MOST_VALUES, parse
from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.tokens import TokenizeRequest

MESSAGES = [{"role": "user", "content": "Hi"}]


def chat(**fields: Any) -> ChatRequest:
    return parse(ChatRequest, json.dumps({"messages": MESSAGES, **fields}).encode())


def refusal(**fields: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        chat(**fields)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"messages": "\xff"}',
        b"[" * 100_000,
        b'{"seed": ' + b"9" * 10_000 + b"}",
        b'{"messages": []} trailing',
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="request body"):
        parse(ChatRequest, body)


def test_a_body_of_too_many_values_is_refused_before_it_is_read() -> None:
    for body in (b"1," * MOST_VALUES, b"[" * MOST_VALUES, b'{"a":' * MOST_VALUES):
        with pytest.raises(InvalidRequest, match="more than 500000 values"):
            parse(TokenizeRequest, b'{"a": [%b' % body)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidRequest, match="'messages' is required") as caught:
        parse(ChatRequest, b"{}")
    assert caught.value.param == "messages"


def test_unknown_fields_are_ignored_and_null_is_absent() -> None:
    nulls = dict.fromkeys(set(ChatRequest.model_fields) - {"messages"})
    assert chat(store=False, verbosity="low", metadata={"a": [1]}, **nulls) == chat()


@pytest.mark.parametrize(
    ("field", "value", "expectation"),
    [
        ("temperature", "hot", "a number from 0 to 5, not 'hot'"),
        ("temperature", True, "a number from 0 to 5, not true"),
        ("temperature", -0.1, "a number from 0 to 5"),
        ("temperature", float("nan"), "a number from 0 to 5"),
        ("temperature", float("inf"), "a number from 0 to 5"),
        ("top_p", 1.01, "a number from 0 to 1"),
        ("top_p", [1], "a number from 0 to 1, not an array"),
        ("min_p", -1, "a number from 0 to 1"),
        ("typical_p", 2, "a number from 0 to 1"),
        ("top_k", -2, "a whole number from -1 to"),
        ("top_k", 1.5, "a whole number from -1 to"),
        ("presence_penalty", 2.5, "a number from -2 to 2"),
        ("frequency_penalty", -2.5, "a number from -2 to 2"),
        ("repeat_penalty", 0, "a number from 0.01 to 10"),
        ("repetition_penalty", 0, "a number from 0.01 to 10"),
        ("n", 0, "a whole number from 1 to 16"),
        ("n", 17, "a whole number from 1 to 16"),
        ("n", "2", "a whole number from 1 to 16"),
        ("max_tokens", -2, "a whole number of at least -1"),
        ("max_completion_tokens", False, "a whole number of at least -1"),
        ("seed", 0.5, "a whole number"),
        ("seed", float("inf"), "a whole number, not inf"),
        ("top_k", 10**400, "a whole number from -1 to"),
        ("tools", [{"function": {"name": "f", "x": 2**64}}], "numbers of at most 64 bits (tool 0)"),
        ("chat_template_kwargs", {"a": [{"b": -(2**63) - 1}]}, "numbers of at most 64 bits, not -"),
        ("chat_template_kwargs", {"a": float("nan")}, "numbers of at most 64 bits, not nan"),
        ("chat_template_kwargs", {"a": float("-inf")}, "numbers of at most 64 bits, not -inf"),
        ("top_logprobs", 21, "a whole number from 0 to 20"),
        ("logprobs", 3, "true or false"),
        ("stream", "yes", "true or false"),
        ("stream_options", [], "an object"),
        ("stream_options", {"include_usage": 1}, "true or false in include_usage"),
        ("ignore_eos", 1, "true or false"),
        ("model", 5, "a string"),
        ("stop", 5, "a string or an array of strings"),
        ("stop", ["a", None], "a string or an array of strings"),
        ("stop", ["a"] * 17, "at most 16 strings"),
        ("stop", "a" * 1001, "at most 1000 characters"),
        ("logit_bias", 5, "an object or an array of pairs"),
        ("logit_bias", [[1]], "pairs of a token and a bias"),
        ("logit_bias", {"1": "x"}, "numbers, or with false"),
        ("logit_bias", {"1": True}, "numbers, or with false"),
        ("logit_bias", {"99999999999999": 1}, "tokens by id or text"),
        ("logit_bias", [[-1, 1]], "tokens by id or text"),
        ("messages", [], "an array of at least one message"),
        ("messages", {}, "an array of at least one message"),
        ("tools", {}, "an array"),
        ("tools", ["x"], "objects"),
        ("tools", [{"type": "function"}], "functions by objects"),
        ("tools", [{"type": "function", "function": {"name": ""}}], "a name"),
        ("tools", [{"function": {"name": "f", "parameters": "x"}}], "parameters as an object"),
        ("functions", [{"name": "f", "description": 5}], "description as a string"),
        ("tool_choice", 5, "a string or an object"),
        ("chat_template_kwargs", "x", "an object"),
        ("enable_thinking", "no", "true or false"),
        ("reasoning", 5, "true or false, a string, or an object"),
        ("thinking", [], "true or false, a string, or an object"),
        ("reasoning_effort", 5, "a string"),
        ("reasoning_format", "other", "auto, none or deepseek"),
        ("response_format", "json", "an object"),
    ],
)
def test_a_wrong_value_is_refused_with_its_field(
    field: str, value: object, expectation: str
) -> None:
    error = refusal(**{field: value})
    assert error.param == field
    assert expectation in error.message
    assert error.message.startswith(f"'{field}' must ")


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("Hi", "messages.1"),
        ({}, "messages.1.role"),
        ({"role": "robot"}, "messages.1.role"),
        ({"role": "user", "content": 5}, "messages.1.content"),
        ({"role": "user", "content": [5]}, "messages.1.content"),
        ({"role": "user", "content": [{"text": "x"}]}, "messages.1.content"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "messages.1.content"),
        ({"role": "assistant", "tool_calls": 5}, "messages.1.tool_calls"),
        ({"role": "assistant", "tool_calls": [5]}, "messages.1.tool_calls.0"),
        ({"role": "assistant", "tool_calls": [{}]}, "messages.1.tool_calls.0.function"),
        ({"role": "tool", "tool_call_id": 5}, "messages.1.tool_call_id"),
    ],
)
def test_a_wrong_message_is_refused_with_its_place(message: object, param: str) -> None:
    error = refusal(messages=[*MESSAGES, message])
    assert error.param == param
    assert param in error.message


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ({"type": "image_url", "image_url": {"url": "data:,"}}, "Images"),
        ({"type": "input_audio", "input_audio": {}}, "Audio"),
        ({"type": "video_url"}, "Video"),
        ({"type": "file"}, "Files"),
        ({"type": "hologram"}, "this type"),
    ],
)
def test_parts_that_are_no_text_are_unsupported(part: object, word: str) -> None:
    error = refusal(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, part]}])
    assert isinstance(error, Unsupported)
    assert error.param == "messages.0.content"
    assert word in error.message and "part 1" in error.message


def test_tools_of_another_type_are_unsupported() -> None:
    error = refusal(tools=[{"type": "web_search"}])
    assert isinstance(error, Unsupported)
    assert "'web_search'" in error.message


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, None),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb"),
        (["a", {"type": "output_text", "text": None}], "a\n"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ({"type": "text", "text": "alone"}, "alone"),
    ],
)
def test_content_comes_in_many_forms(content: object, text: str | None) -> None:
    request = chat(messages=[{"role": "user", "content": content}])
    assert request.messages[0].content == text


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert chat(n=2.0, max_tokens=5.0, seed=1e3).seed == 1000


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"15": -100, "Hello": False}, ((15, -100.0), ("Hello", float("-inf")))),
        ([[15, 2.5], ["15", 1], [" x", False]], ((15, 2.5), (15, 1.0), (" x", float("-inf")))),
        ({}, ()),
    ],
)
def test_logit_biases(given: object, read: object) -> None:
    assert chat(logit_bias=given).logit_bias == read


def test_whole_numbers_may_be_of_any_size() -> None:
    assert chat(seed=10**400).seed == 10**400
    assert chat(max_tokens=2**64, seed=-0.0).seed == 0
    assert chat(chat_template_kwargs={"a": 2**64 - 1}).chat_template_kwargs == {"a": 2**64 - 1}


def test_empty_stop_strings_are_dropped() -> None:
    assert chat(stop="").stop == ()
    assert chat(stop=["", "END"]).stop == ("END",)


def test_long_values_are_cut_in_messages() -> None:
    assert len(refusal(temperature="x" * 10_000).message) < 200


def test_many_wrong_messages_cost_no_more_than_one() -> None:
    error = refusal(messages=[5] * 200_000)
    assert error.param == "messages.0"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()) | st.sampled_from('\ud83d\ude00\\"')))
@example("cut \ud83d")
@example("\ude00\ud83d\ud83d\ude00\\\ud83d")
def test_any_string_of_javascript_is_read(text: str) -> None:
    """Halves of characters become U+FFFD; everything else stays."""
    body = json.dumps({"content": text}).encode()
    whole = json.loads(body)["content"].encode("utf-16-le", "surrogatepass")
    expected = whole.decode("utf-16-le", "replace")
    (read,) = parse(TokenizeRequest, body).content or ("",)
    assert read == expected


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "auto", "none", "text", "function", "json_object"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "name", "function", "effort"]) | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(ChatRequest.model_fields)), JSON, max_size=6))
def test_whatever_a_field_holds_it_is_read_or_refused(fields: dict[str, object]) -> None:
    try:
        chat(**fields)
    except InvalidRequest as error:
        assert error.param is None or error.param.split(".")[0] in fields
