"""Answers that the client has begun, and where generation starts."""

import pytest

from hubserve_engine.errors import PromptError
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.types import Chat, Message, Rendered, ToolCall

ASK = Message("user", "hi")
TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
PLAIN = TURNS + "{% if add_generation_prompt %}<assistant>{% endif %}"
OPEN = PLAIN + "{% if add_generation_prompt %}<think>\n{% endif %}{# </think> #}"
SWITCHED = PLAIN + (
    "{% if add_generation_prompt %}{% if enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}"
    "{% else %}{{ '<think>\n' }}{% endif %}{% endif %}"
)
SILENT = PLAIN + (
    "{% if add_generation_prompt and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}"
)


def render(source: str, *messages: Message, continue_final: bool = False) -> Rendered:
    chat = Chat(messages, continue_final=continue_final)
    return ChatTemplate(source, bos="", eos="").render(chat, reasoning="auto")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PLAIN, Rendered("<user>hi<assistant>", False)),
        (OPEN, Rendered("<user>hi<assistant><think>\n", True)),
        (SWITCHED, Rendered("<user>hi<assistant><think>\n", True)),
        (SILENT, Rendered("<user>hi<assistant>", False)),
    ],
)
def test_the_end_of_the_prompt_tells_whether_thinking_is_open(
    source: str, expected: Rendered
) -> None:
    assert render(source, ASK) == expected


def test_a_tag_in_a_message_opens_nothing() -> None:
    assert not render(SILENT, Message("user", "what is <think>?")).thinking_open


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PLAIN, "<user>hi<assistant>I am "),
        (OPEN, "<user>hi<assistant><think>\n\n</think>\n\nI am "),
        (SWITCHED, "<user>hi<assistant><think>\n\n</think>\n\nI am "),
        (SILENT, "<user>hi<assistant><think>\n\n</think>\n\nI am "),
    ],
)
def test_a_begun_answer_is_gone_on_from(source: str, expected: str) -> None:
    begun = Message("assistant", "I am ")
    assert render(source, ASK, begun) == Rendered(expected, False)
    assert render(source, ASK, begun, continue_final=True) == Rendered(expected, False)


def test_a_switch_that_changes_more_than_the_end_is_left_alone() -> None:
    source = "{{ 'Do not think.' if enable_thinking is false }}" + SILENT
    assert render(source, ASK, Message("assistant", "I am")).text == "<user>hi<assistant>I am"


@pytest.mark.parametrize("source", [OPEN, SWITCHED, SILENT])
def test_begun_thinking_is_gone_on_from(source: str) -> None:
    expected = Rendered("<user>hi<assistant><think>\nFirst", True)
    assert render(source, ASK, Message("assistant", None, reasoning="First")) == expected
    assert render(source, ASK, Message("assistant", "<think>\nFirst")) == expected


@pytest.mark.parametrize("source", [OPEN, SWITCHED, SILENT])
def test_thinking_that_is_done_stands_before_the_begun_answer(source: str) -> None:
    expected = Rendered("<user>hi<assistant><think>\nhm\n</think>\n\nI am", False)
    assert render(source, ASK, Message("assistant", "I am", reasoning="hm")) == expected
    assert render(source, ASK, Message("assistant", "<think>\nhm\n</think>\n\nI am")) == expected


def test_an_answer_without_words_is_begun_anew() -> None:
    assert render(OPEN, ASK, Message("assistant", "")) == render(OPEN, ASK)


def test_a_last_message_with_calls_is_a_turn() -> None:
    called = Message("assistant", "I look", tool_calls=(ToolCall("a", "look", "{}"),))
    assert render(PLAIN, ASK, called).text.endswith("<assistant>")


def test_the_prompt_may_end_with_the_beginning_of_an_answer() -> None:
    source = PLAIN + "{# '>>>all\\n' #}{% if add_generation_prompt %}>>>{% endif %}"
    assert render(source, ASK) == Rendered("<user>hi<assistant>>>>", False, ">>>")
    begun = Message("assistant", "I am")
    assert render(source, ASK, begun) == Rendered("<user>hi<assistant>>>>all\nI am", False)


def test_only_an_answer_can_be_continued() -> None:
    with pytest.raises(PromptError, match="'user'") as caught:
        render(PLAIN, ASK, continue_final=True)
    assert caught.value.param == "messages"


def test_without_a_generation_prompt_the_answer_is_a_turn() -> None:
    chat = Chat((ASK, Message("assistant", "I am")), add_generation_prompt=False)
    found = ChatTemplate(OPEN, bos="", eos="").render(chat, reasoning="auto")
    assert found == Rendered("<user>hi<assistant>I am", False)


def test_the_answer_of_a_family_with_frames_begins_with_its_frame() -> None:
    source = PLAIN + "{# <|channel|>analysis<|message|> #}"
    found = render(source, ASK, Message("assistant", "I am", reasoning="hm"))
    assert found == Rendered("<user>hi<assistant><|channel|>final<|message|>I am", False)
    source += "{% if enable_thinking is false %}{{ '<|channel|>final<|message|>' }}{% endif %}"
    found = render(source, ASK, Message("assistant", "I am"))
    assert found == Rendered("<user>hi<assistant><|channel|>final<|message|>I am", False)
    found = render(source, ASK, Message("assistant", None, reasoning="hm"))
    assert found == Rendered("<user>hi<assistant><|channel|>analysis<|message|>hm", True)
