"""The switches of thinking, on templates of a few words."""

from collections.abc import Mapping
from typing import Any

import pytest

from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.types import Chat, Message, ReasoningSwitch

ASK = (Message("user", "hi"),)
BODY = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"


def rendered(
    source: str,
    reasoning: ReasoningSwitch = "auto",
    *,
    effort: str | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> str:
    chat = Chat(ASK, reasoning_effort=effort, template_arguments=arguments or {})
    return ChatTemplate(BODY + source, bos="", eos="").render(chat, reasoning=reasoning).text


SWITCHES = [
    ("enable_thinking", "{% if enable_thinking is false %}off{% else %}on{% endif %}"),
    ("thinking", "{% if thinking %}on{% else %}off{% endif %}"),
    ("thinking_mode", "{{ 'off' if thinking_mode == 'disabled' else 'on' }}"),
    ("thinking_option", "{{ 'off' if thinking_option == 'off' else 'on' }}"),
    (
        "thinking_budget",
        "{{ 'off' if thinking_budget|default(-1) == 0 else 'on' }}",
    ),
    ("reasoning_effort", "{{ 'off' if reasoning_effort == 'none' else 'on' }}"),
    (
        "reasoning_effort",
        "{{ 'on' if reasoning_effort|default('no_think') != 'no_think' else 'off' }}",
    ),
    ("reasoning_effort", "{{ 'off' if reasoning_effort in ['low', 'minimal'] else 'high on' }}"),
    ("/think", "{% if '/no_think' in messages[0].content %}off{% else %}on{% endif %}"),
]


@pytest.mark.parametrize(("name", "source"), SWITCHES)
def test_a_switch_is_found_by_what_it_does(name: str, source: str) -> None:
    assert ChatTemplate(BODY + source, bos="", eos="").thinking_switch == name
    assert rendered(source, "on").endswith("on")
    assert rendered(source, "off").endswith("off")


def test_auto_leaves_the_template_alone() -> None:
    source = "{{ enable_thinking is defined }}{{ reasoning_effort is defined }}"
    assert rendered(source).endswith("FalseFalse")


def test_a_name_that_does_nothing_is_no_switch() -> None:
    source = "{% set enable_thinking = enable_thinking %}{# thinking #}{{ 'reasoning_effort' }}"
    assert ChatTemplate(BODY + source, bos="", eos="").thinking_switch is None


def test_enable_thinking_is_given_to_every_template() -> None:
    source = "{{ 'on' if thinking else 'off' }}{{ enable_thinking is defined }}"
    assert rendered(source, "off").endswith("offTrue")


def test_the_chats_own_wish_overrides_the_servers() -> None:
    template = ChatTemplate(BODY + SWITCHES[0][1], bos="", eos="")
    assert template.render(Chat(ASK, reasoning="off"), reasoning="on").text.endswith("off")


def test_template_arguments_override_everything() -> None:
    source = SWITCHES[0][1]
    assert rendered(source, "on", arguments={"enable_thinking": False}).endswith("off")


@pytest.mark.parametrize(
    ("effort", "found"),
    [("low", "low"), ("medium", "medium"), ("minimal", "low"), ("max", "high"), ("odd", "none")],
)
def test_an_effort_becomes_the_nearest_that_the_template_takes(effort: str, found: str) -> None:
    source = "{{ reasoning_effort|default('none') }}"
    assert rendered(source, effort=effort).endswith(found)


def test_an_effort_that_the_template_names_is_given_as_it_is() -> None:
    source = "{{ 'most' if thinking_effort == 'max' else thinking_effort }}"
    assert rendered(source, effort="max").endswith("most")


def test_an_effort_that_the_template_refuses_becomes_another() -> None:
    source = (
        "{% if e is defined or reasoning_effort is defined and reasoning_effort != 'high' %}"
        "{{ raise_exception('only high') }}{% endif %}{{ reasoning_effort }}"
    )
    assert rendered(source, effort="low").endswith("high")
