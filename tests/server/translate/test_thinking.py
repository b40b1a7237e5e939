"""Which of a request's thinking switches counts."""

import json
from typing import Any

import pytest

from hubserve_engine.errors import InvalidRequest
from hubserve_server.body import parse
from hubserve_server.translate.thinking import Thinking, reasoning_format, thinking
from hubserve_server.wire.chat import ChatRequest


def wire(**fields: Any) -> ChatRequest:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    return parse(ChatRequest, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Thinking()),
        ({"chat_template_kwargs": {"enable_thinking": False}}, Thinking("off")),
        ({"chat_template_kwargs": {"enable_thinking": True}}, Thinking("on")),
        ({"chat_template_kwargs": {"other": 1}}, Thinking()),
        ({"chat_template_kwargs": {"enable_thinking": None}}, Thinking()),
        ({"chat_template_kwargs": {"thinking": False}}, Thinking()),
        ({"enable_thinking": False}, Thinking("off")),
        ({"enable_thinking": True}, Thinking("on")),
        ({"reasoning": {"enabled": True}}, Thinking("on")),
        ({"reasoning": {"enabled": False, "effort": "high"}}, Thinking("off")),
        ({"reasoning": {"enabled": True, "effort": "high"}}, Thinking("on", "high")),
        ({"reasoning": {"effort": "none"}}, Thinking("off")),
        ({"reasoning": {"effort": "low"}}, Thinking("on", "low")),
        ({"reasoning": {}}, Thinking()),
        ({"reasoning": "off"}, Thinking("off")),
        ({"reasoning": True}, Thinking("on")),
        ({"thinking": {"type": "enabled", "budget_tokens": 5}}, Thinking("on")),
        ({"thinking": {"type": "disabled"}}, Thinking("off")),
        ({"thinking": {"type": None}}, Thinking()),
        ({"thinking": "medium"}, Thinking("on", "medium")),
        ({"thinking": "off"}, Thinking("off")),
        ({"thinking": False}, Thinking("off")),
        ({"reasoning_effort": "none"}, Thinking("off")),
        ({"reasoning_effort": "OFF"}, Thinking("off")),
        ({"reasoning_effort": "minimal"}, Thinking("on", "minimal")),
        ({"reasoning_effort": "xhigh"}, Thinking("on", "xhigh")),
        ({"reasoning_effort": ""}, Thinking()),
        ({"thinking_budget_tokens": 5, "thinking_budget": 5}, Thinking()),
    ],
)
def test_each_switch(fields: dict[str, Any], expected: Thinking) -> None:
    assert thinking(wire(**fields)) == expected


IN_ORDER: list[dict[str, Any]] = [
    {"chat_template_kwargs": {"enable_thinking": True}},
    {"enable_thinking": True},
    {"reasoning": {"enabled": True}},
    {"thinking": {"type": "enabled"}},
    {"reasoning_effort": "high"},
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_first_that_is_set_counts(first: int) -> None:
    opposite = {
        "chat_template_kwargs": {"enable_thinking": False},
        "enable_thinking": False,
        "reasoning": {"enabled": False},
        "thinking": {"type": "disabled"},
        "reasoning_effort": "none",
    }
    later = {name: opposite[name] for each in IN_ORDER[first + 1 :] for name in each}
    assert thinking(wire(**IN_ORDER[first], **later)).switch == "on"


def test_the_effort_may_stand_beside_an_earlier_switch() -> None:
    on = wire(enable_thinking=True, reasoning_effort="low")
    assert thinking(on) == Thinking("on", "low")
    off = wire(enable_thinking=False, reasoning_effort="low")
    assert thinking(off) == Thinking("off")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"reasoning": {"enabled": 1}}, "reasoning.enabled"),
        ({"reasoning": {"effort": 1}}, "reasoning.effort"),
        ({"thinking": {"type": 1}}, "thinking.type"),
    ],
)
def test_wrong_switches_are_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest, match=param) as caught:
        thinking(wire(**fields))
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("given", "expected"),
    [(None, None), ("auto", "auto"), ("deepseek", "auto"), ("none", "none")],
)
def test_reasoning_format(given: str | None, expected: str | None) -> None:
    assert reasoning_format(wire(reasoning_format=given)) == expected


@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
@pytest.mark.parametrize("value", ["false", "true", "", 0, 1, [], {}])
def test_switches_of_templates_are_true_or_false(name: str, value: object) -> None:
    param = f"chat_template_kwargs.{name}"
    with pytest.raises(InvalidRequest, match=f"'{param}' must be true or false, not ") as caught:
        thinking(wire(chat_template_kwargs={name: value}))
    assert caught.value.param == param
