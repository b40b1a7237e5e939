"""Chats through small templates, each with a habit of the real ones."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.histories import histories

from hubserve_engine.errors import Cancelled, PromptError
from hubserve_engine.prompt import limits
from hubserve_engine.prompt.default import CHATML
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.types import Chat, Message, ToolCall

FUSSY = (Path(__file__).parents[2] / "fixtures" / "tiny-qwen35.jinja").read_text()
ASK = Message("user", "hi")
SYSTEM = Message("system", "be brief")
CALL = Message("assistant", tool_calls=(ToolCall("call_1", "look", '{"at": "home"}'),))
RESULT = Message("tool", "nothing", tool_call_id="call_1")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def render(source: str, *messages: Message, tools: bool = False) -> str:
    chat = Chat(messages, tools=(TOOL,) if tools else ())
    return ChatTemplate(source, bos="<s>", eos="</s>").render(chat, reasoning="auto").text


def test_a_chat_as_the_template_writes_it() -> None:
    assert render(CHATML, SYSTEM, ASK) == (
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_what_a_template_is_given() -> None:
    source = "{{ bos_token }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ eos_token }}"
    words = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert render(words + source, ASK) == "hi<s>NoneNoneTrue</s>"


def test_tools_reach_the_template() -> None:
    assert '"name": "look"' in render(FUSSY, ASK, tools=True)


def test_template_arguments_reach_the_template() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{{ mood }}"
    chat = Chat((ASK,), template_arguments={"mood": "merry"})
    assert ChatTemplate(source, bos="", eos="").render(chat, reasoning="auto").text == "himerry"


def test_template_arguments_cannot_replace_the_chat() -> None:
    chat = Chat((ASK,), template_arguments={"messages": []})
    with pytest.raises(PromptError, match="'messages'"):
        ChatTemplate(CHATML, bos="", eos="").render(chat, reasoning="auto")


@pytest.mark.parametrize(
    "source", ["{% if %}", "{{ a", "{% for %}", "{{ x|nofilter }}", "(" * 10**5]
)
def test_a_source_that_is_no_template_says_where(source: str) -> None:
    if source.startswith("("):
        source = "{{ " + source
    with pytest.raises(PromptError, match="chat template"):
        ChatTemplate("one line\n" + source, bos="", eos="")


def test_a_fault_of_the_source_is_given_with_its_line() -> None:
    with pytest.raises(PromptError, match="line 2"):
        ChatTemplate("one line\n{% if %}", bos="", eos="")


def test_a_source_that_is_too_long_is_not_read() -> None:
    with pytest.raises(PromptError, match="1048577"):
        ChatTemplate("a" * (2**20 + 1), bos="", eos="")


def test_an_empty_chat_is_refused() -> None:
    with pytest.raises(PromptError, match="empty") as caught:
        render(CHATML)
    assert caught.value.param == "messages"


def test_a_refusal_is_in_the_templates_own_words() -> None:
    source = "{% for m in messages %}{{ m.content }}{% if m.content == 'hi' %}"
    source += "{{ raise_exception('not that word') }}{% endif %}{% endfor %}"
    with pytest.raises(PromptError, match="not that word") as caught:
        render(source, ASK)
    assert caught.value.param == "messages"


def test_an_old_template_gets_its_functions() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{{ functions|trim }}"
    assert '"name": "look"' in render(source, ASK, tools=True)
    told = render(source + "{% if tools %}{% endif %}", ASK, tools=True)
    assert "You can call these functions:" in told and '"name": "look"' in told


@pytest.mark.timeout(60)
def test_a_template_that_never_ends_is_stopped() -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    template = ChatTemplate(source + "{% if stay %}" + loop + "{% endif %}", bos="", eos="")
    chat = Chat((ASK,), template_arguments={"stay": True})
    with pytest.raises(PromptError, match="stopped"):
        template.render(chat, reasoning="auto")
    assert template.render(Chat((ASK,)), reasoning="auto").text == "hi"


def test_late_system_messages_move_to_the_front_where_they_must() -> None:
    late = Message("system", "in French")
    text = render(FUSSY, SYSTEM, ASK, Message("assistant", "yes"), late, ASK)
    assert text.startswith("<|im_start|>system\nbe brief\n\nin French<|im_end|>")


def test_late_system_messages_stay_where_they_may() -> None:
    text = render(CHATML, ASK, SYSTEM, ASK)
    assert text.index("hi") < text.index("be brief") < text.rindex("hi")


def test_a_template_that_drops_late_system_messages_gets_them_at_the_front() -> None:
    source = (
        "{{ messages[0].content }}{% for m in messages[1:] %}{% if m.role != 'system' %}"
        "/{{ m.content }}{% endif %}{% endfor %}"
    )
    assert render(source, SYSTEM, ASK, Message("system", "late")) == "be brief\n\nlate/hi"


def test_a_template_without_a_system_role_gets_it_in_the_question() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
        "{% endif %}{{ m.role }}:{{ m.content }};{% endfor %}"
    )
    assert render(source, SYSTEM, ASK) == "user:be brief\n\nhi;"


def test_a_template_that_wants_turns_gets_them() -> None:
    source = (
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.role }}:{{ m.content }};"
        "{% endfor %}"
    )
    assert render(source, SYSTEM, ASK, ASK) == "user:be brief\n\nhi\n\nhi;"
    answer = Message("assistant", "yes")
    assert render(source, answer, ASK) == "user:;assistant:yes;user:hi;"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("{% for k, v in c.arguments|items %}{{ k }}={{ v }}{% endfor %}", "at=home"),
        ("{{ c.arguments|tojson }}", '{"at": "home"}'),
        ("{{ '' + c.arguments }}", '{"at": "home"}'),
        ("{{ c.arguments }}", '{"at": "home"}'),
        ("{{ c.arguments if c.arguments is string else c.arguments|tojson }}", '{"at": "home"}'),
    ],
)
def test_calls_get_the_arguments_that_a_template_can_write(how: str, expected: str) -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% for call in m.tool_calls or [] %}"
        "{% set c = call.function %}[{{ c.name }} " + how + "]{% endfor %}{% endfor %}"
    )
    assert render(source, ASK, CALL, RESULT) == f"hi[look {expected}]nothing"


@pytest.mark.parametrize("arguments", ["{broken", "", "null", '"{\\"a\\": 1}"', "[1]"])
def test_broken_arguments_are_no_failure(arguments: str) -> None:
    broken = Message("assistant", tool_calls=(ToolCall("a", "look", arguments),))
    text = render(FUSSY, ASK, broken, RESULT)
    assert '"name": "look"' in text
    assert "broken" in text or "broken" not in arguments


@pytest.mark.parametrize("content", [None, ""])
def test_empty_content_is_no_failure(content: str | None) -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content + '' }}{% endfor %}"
    assert render(source, Message("system", content), Message("user", content)) == "<system><user>"


def test_a_template_that_knows_calls_by_their_null_content_gets_it() -> None:
    source = (
        "{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}"
        "[{{ c.function.name }} {{ c.function.arguments|tojson }}]{% endfor %}{% else %}"
        "{{ m.content }}{% endif %}{% endfor %}"
    )
    assert render(source, ASK, CALL, RESULT) == 'hi[look {"at": "home"}]nothing'
    spoken = Message("assistant", "I look.", tool_calls=CALL.tool_calls)
    assert render(source, ASK, spoken, RESULT) == 'hiI look.[look {"at": "home"}]nothing'


def test_a_template_of_one_call_a_message_gets_each_with_its_result() -> None:
    source = (
        "{% for m in messages %}{% if m.tool_calls %}[{{ m.tool_calls[0].function.name }}"
        "{{ m.tool_calls[0].function.arguments|tojson }}]{% else %}{{ m.content }}{% endif %}"
        "{% endfor %}"
    )
    calls = (ToolCall("a", "one", "{}"), ToolCall("b", "two", "{}"))
    results = (Message("tool", "1", tool_call_id="a"), Message("tool", "2", tool_call_id="b"))
    text = render(source, ASK, Message("assistant", tool_calls=calls), *results)
    assert text == "hi[one{}]1[two{}]2"


def test_a_template_that_wants_short_ids_gets_them() -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{% if c.id|length != 9 %}{{ raise_exception('nine letters') }}{% endif %}"
        "[{{ c.function|tojson }}]{% endfor %}{% endfor %}"
    )
    assert "look" in render(source, ASK, CALL, RESULT)


def test_a_template_without_tools_gets_calls_and_results_as_text() -> None:
    source = (
        "{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}"
        "{{ raise_exception('unknown role') }}{% endif %}{{ m.role }}:{{ m.content }};{% endfor %}"
    )
    assert render(source, ASK, CALL, RESULT) == (
        'user:hi;assistant:<tool_call>\n{"name": "look", "arguments": {"at": "home"}}\n'
        "</tool_call>;user:Result of look:\nnothing;"
    )


def test_results_that_follow_no_call_are_not_lost() -> None:
    source = (
        "{% for m in messages %}{% if m.role != 'tool' %}{{ m.role }}:{{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function|tojson }}"
        "{% for r in messages if r.role == 'tool' and r.tool_call_id == c.id %}{{ r.content }}"
        "{% endfor %}{% endfor %};{% endif %}{% endfor %}"
    )
    assert "nothing" in render(source, ASK, CALL, RESULT)
    assert render(source, RESULT, ASK) == "user:Result:\nnothing;user:hi;"


def test_answers_that_say_nothing_are_left_out_where_they_are_refused() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'assistant' and not m.content %}"
        "{{ raise_exception('say something') }}{% endif %}{{ m.content }};{% endfor %}"
    )
    assert render(source, ASK, Message("assistant"), ASK) == "hi;hi;"


def test_a_template_that_wants_parts_gets_them() -> None:
    source = "{% for m in messages %}{{ m.content[0].text }}{% endfor %}"
    assert render(source, ASK) == "hi"


def test_tools_get_the_keys_that_a_template_takes_for_granted() -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% endfor %}{% for t in tools or [] %}"
        "{{ '/' + t.function.description + t.function.name }}{% endfor %}"
    )
    assert render(source, ASK, tools=True) == "hi/look"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking", "thought"])
def test_earlier_thinking_goes_back_to_the_template(key: str) -> None:
    source = "{% for m in messages %}{{ m.content }}({{ m." + key + " }}){% endfor %}"
    assert render(source, Message("assistant", "a", reasoning="hm"), ASK) == "a(hm)hi()"


def test_thinking_that_a_template_refuses_is_left_out() -> None:
    source = (
        "{% for m in messages %}{% if m.thinking %}{{ raise_exception('no thinking') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    assert render(source, Message("assistant", "a", reasoning="hm"), ASK) == "ahi"


@settings(deadline=None)
@given(histories(), st.booleans(), st.sampled_from(["on", "off", "auto"]))
def test_no_history_is_a_fault_of_ours(
    messages: tuple[Message, ...], tools: bool, reasoning: str
) -> None:
    chat = Chat(messages, tools=(TOOL,) if tools else ())
    for template in (_FUSSY, _CHATML):
        try:
            text = template.render(chat, reasoning=reasoning).text  # type: ignore[arg-type]
        except PromptError as error:
            assert not messages and "empty" in error.message
        else:
            assert text.count("<|im_start|>") == text.count("<|im_end|>") + 1


_FUSSY = ChatTemplate(FUSSY, bos="", eos="")
_CHATML = ChatTemplate(CHATML, bos="", eos="")


def test_more_messages_than_any_context_holds_are_refused_with_their_number() -> None:
    with pytest.raises(PromptError, match=r"10001 .*at most 10000") as caught:
        render(CHATML, *[ASK] * 10_001)
    assert caught.value.param == "messages"
    calls = Message("assistant", tool_calls=CALL.tool_calls * 6000)
    with pytest.raises(PromptError, match="12003"):
        render(CHATML, ASK, calls, calls)
    assert render(CHATML, *[ASK] * 10_000).count("hi") == 10_000


def test_a_chat_that_nobody_waits_for_is_not_rendered() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    slow = "{% if messages[0].content == 'slow' %}{% for a in range(99999) %}"
    slow += "{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}"
    template = ChatTemplate(source + slow, bos="", eos="")
    with pytest.raises(Cancelled):
        template.render(Chat((Message("user", "slow"),)), reasoning="auto", wanted=lambda: False)


HALF = "\\ud83d"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (FUSSY, Message("assistant", tool_calls=(ToolCall("a", "look", f'{{"at": "x{HALF}y"}}'),))),
        (FUSSY, Message("assistant", tool_calls=(ToolCall("a", "look", f'{{"x{HALF}": 1}}'),))),
        (CHATML, Message("user", "x\ud83d")),
        (CHATML + "{{ '" + HALF + "' }}", ASK),
        (CHATML + "{{ '%c' % 55357 }}", ASK),
    ],
)
def test_halves_of_characters_do_no_harm(source: str, message: Message) -> None:
    text = render(source, ASK, message, RESULT, ASK, tools=True)
    assert "\ufffd" in text
    text.encode()


@pytest.mark.timeout(60)
def test_a_chat_that_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    heavy = "{% if messages[0].content == 'heavy' %}{% set x = [] %}{% for _ in range(99999) %}"
    heavy += "{% set _ = x.append(range(99999)|list) %}{% endfor %}{% endif %}"
    template = ChatTemplate(source + heavy, bos="", eos="")
    monkeypatch.setattr(limits, "_MEMORY", 2**26)
    with pytest.raises(PromptError, match="too much memory") as caught:
        template.render(Chat((Message("user", "heavy"),)), reasoning="auto")
    assert caught.value.param == "messages"
    assert template.render(Chat((ASK,)), reasoning="auto").text == "hi"
