"""Chat requests in the engine's vocabulary."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_engine.types import Message, Request, ToolCall
from hubserve_server.body import parse
from hubserve_server.translate import chat as translation
from hubserve_server.wire.chat import ChatRequest

HI = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def wire(*messages: object, **fields: Any) -> ChatRequest:
    body = {"messages": list(messages) or [HI], **fields}
    return parse(ChatRequest, json.dumps(body).encode())


def translate(*messages: object, **fields: Any) -> Request:
    return translation.chat_request(wire(*messages, **fields))


def messages(*given: object, **fields: Any) -> tuple[Message, ...]:
    return translation.chat(wire(*given, **fields)).messages


def test_the_plainest_request_leaves_everything_to_the_defaults() -> None:
    assert translate() == Request(prompt=translation.chat(wire()))
    assert translate().max_tokens is None


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
SAID = {"type": "text", "text": "It is"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([THOUGHT, SAID], Message("assistant", "It is", "Hm.")),
        ([{"type": "reasoning", "text": "Hm."}, SAID], Message("assistant", "It is", "Hm.")),
        ([{"type": "redacted_thinking", "data": "=="}, SAID], Message("assistant", "It is")),
        ([THOUGHT, THOUGHT], Message("assistant", None, "Hm.\nHm.")),
        (THOUGHT, Message("assistant", None, "Hm.")),
        (
            [SAID, {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}],
            Message("assistant", "It is", None, (ToolCall("a", "f", '{"x": 1}'),)),
        ),
        (
            [{"type": "tool-call", "toolCallId": "a", "toolName": "f", "args": {}}],
            Message("assistant", None, None, (ToolCall("a", "f", "{}"),)),
        ),
    ],
)
def test_an_answer_may_come_back_in_parts(content: object, expected: Message) -> None:
    (_, found, _) = messages(HI, {"role": "assistant", "content": content}, HI)
    assert found == expected


def test_what_has_its_own_field_is_not_taken_from_the_parts_too() -> None:
    call = {"id": "b", "function": {"name": "g", "arguments": "{}"}}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {
        "role": "assistant",
        "content": [THOUGHT, SAID, use],
        "reasoning_content": "So.",
        "tool_calls": [call],
    }
    (_, found, _) = messages(HI, answer, HI)
    assert found == Message("assistant", "It is", "So.", (ToolCall("b", "g", "{}"),))


@pytest.mark.parametrize(
    ("role", "kind"),
    [("user", "thinking"), ("user", "tool_result"), ("tool", "tool_use"), ("assistant", "odd")],
)
def test_other_parts_are_refused_by_name(role: str, kind: str) -> None:
    with pytest.raises(Unsupported, match=f"part 0 is of the type '{kind}'"):
        messages({"role": role, "content": [{"type": kind, "text": "x"}]})


def test_sampling_fields_reach_the_engine() -> None:
    request = translate(
        temperature=0.5,
        top_p=0.9,
        top_k=-1,
        min_p=0.1,
        typical_p=0.8,
        presence_penalty=1,
        frequency_penalty=-1,
        repetition_penalty=1.1,
        repeat_last_n=32,
        seed=7,
        ignore_eos=True,
        logit_bias={"5": False},
        stop="END",
        n=2,
        cache_prompt=False,
    )
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 0)
    assert (sampling.min_p, sampling.typical_p) == (0.1, 0.8)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (1, -1)
    assert (sampling.repeat_penalty, sampling.repeat_last_n) == (1.1, 32)
    assert (sampling.seed, sampling.ignore_eos) == (7, True)
    assert sampling.logit_bias == ((5, float("-inf")),)
    assert (request.stop, request.n, request.cache_prompt) == (("END",), 2, False)


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 0}, None),
        ({"max_tokens": -1}, None),
        ({"max_tokens": None}, None),
        ({"max_tokens": 5, "max_completion_tokens": 9}, 9),
        ({"max_tokens": 5, "max_completion_tokens": None}, 5),
        ({"max_tokens": 5, "max_completion_tokens": 0}, None),
    ],
)
def test_max_tokens(fields: dict[str, Any], limit: int | None) -> None:
    assert translate(**fields).max_tokens == limit


@pytest.mark.parametrize(
    ("given", "seed"),
    [(0, 0), (2**32, 0), (2**32 + 5, 5), (-1, None), (2**32 - 1, None), (-2, 2**32 - 2)],
)
def test_any_seed_becomes_32_bits(given: int, seed: int | None) -> None:
    assert translate(seed=given).sampling.seed == seed


def test_logprobs() -> None:
    assert translate(logprobs=True).logprobs == 0
    assert translate(logprobs=True, top_logprobs=5).logprobs == 5
    assert translate(logprobs=False, top_logprobs=0).logprobs is None
    with pytest.raises(InvalidRequest, match="'top_logprobs' needs"):
        translate(top_logprobs=2)


def test_roles() -> None:
    given = [{"role": role, "content": "x"} for role in ("system", "developer", "function")]
    assert [each.role for each in messages(*given, HI)] == ["system", "system", "tool", "user"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_earlier_thinking_comes_under_three_names(name: str) -> None:
    first, _ = messages({"role": "assistant", "content": "a", name: "because"}, HI)
    assert first.reasoning == "because"


def test_a_reasoning_object_in_a_message_is_no_fault() -> None:
    first, _ = messages({"role": "assistant", "content": "a", "reasoning": {"x": 1}}, HI)
    assert first.reasoning is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [('{"a": 1}', '{"a": 1}'), ({"a": 1}, '{"a": 1}'), ('{"a": ', '{"a": '), (None, ""), ("", "")],
)
def test_tool_calls_of_earlier_turns(arguments: object, text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    first, second = messages(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
    )
    assert first == Message("assistant", None, tool_calls=(ToolCall("c1", "f", text),))
    assert second == Message("tool", "42", tool_call_id="c1")


def test_older_function_calls_become_tool_calls() -> None:
    first, second = messages(
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    )
    assert first.tool_calls == (ToolCall("call_0", "f", "{}"),)
    assert second == Message("tool", "42", name="f")


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "text"}},
        {"response_format": {}},
        {"grammar": ""},
        {"json_schema": None},
        {"structured_outputs": {"json": None}},
        {"tool_choice": "auto"},
    ],
)
def test_a_form_that_asks_for_nothing_is_none(fields: dict[str, Any]) -> None:
    assert translate(**fields) == translate()


ANSWER = {"role": "assistant", "content": "The answer"}


def test_an_assistant_message_at_the_end_is_gone_on_with() -> None:
    chat = translation.chat(wire(HI, ANSWER))
    assert (chat.continue_final, chat.add_generation_prompt) == (True, False)
    chat = translation.chat(wire(HI, ANSWER, continue_final_message=True))
    assert (chat.continue_final, chat.add_generation_prompt) == (True, False)


@pytest.mark.parametrize(
    "fields", [{"continue_final_message": False}, {"add_generation_prompt": True}]
)
def test_a_request_can_ask_for_a_new_turn_after_an_assistant_message(
    fields: dict[str, bool],
) -> None:
    chat = translation.chat(wire(HI, ANSWER, **fields))
    assert (chat.continue_final, chat.add_generation_prompt) == (False, True)
    assert chat.messages[-1].content == "The answer"


def test_an_empty_assistant_message_at_the_end_is_dropped() -> None:
    chat = translation.chat(wire(HI, {"role": "assistant", "content": ""}))
    assert [each.role for each in chat.messages] == ["user"]
    assert (chat.continue_final, chat.add_generation_prompt) == (False, True)


def test_a_lone_empty_assistant_message_is_kept() -> None:
    assert len(messages({"role": "assistant", "content": ""})) == 1


def test_calls_at_the_end_are_no_unfinished_answer() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    chat = translation.chat(wire(HI, {"role": "assistant", "tool_calls": [call]}))
    assert (chat.continue_final, chat.add_generation_prompt) == (False, True)


def test_no_generation_prompt_if_the_request_says_so() -> None:
    assert translation.chat(wire(add_generation_prompt=False)).add_generation_prompt is False


def test_contradicting_prompt_endings_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="cannot both be true"):
        translate(HI, ANSWER, continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(InvalidRequest, match="needs an assistant message"):
        translate(HI, continue_final_message=True)


def test_template_arguments_reach_the_template() -> None:
    chat = translation.chat(
        wire(chat_template_kwargs={"enable_thinking": False, "thinking": None, "x": [1]})
    )
    assert chat.reasoning == "off"
    assert chat.template_arguments == {"x": [1]}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
SWITCHES = ("reasoning", "thinking", "reasoning_effort", "chat_template_kwargs", "tool_choice")


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(SWITCHES), VALUES),
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
            optional={"content": VALUES, "reasoning": VALUES, "name": VALUES, "tool_calls": VALUES},
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_every_request_is_translated_or_refused(
    fields: dict[str, object], given_messages: list[object]
) -> None:
    try:
        request = translate(*given_messages, **fields)
    except InvalidRequest:
        return
    assert request.n == 1
