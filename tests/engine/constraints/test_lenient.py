"""Calls that need not come are better free than not there at all."""

from typing import Any

import pytest
from tests.engine.constraints.test_answer import MODEL, constraints, takes
from tests.support.odd_tokens import allowed

from hubserve_engine.constraints.lenient import Lenient
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.profiles import PLAIN
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import Chat, Constraint, Message, Rendered, Request, ToolUse

RENDERED = Rendered("", thinking_open=False)
STRICT = ToolUse(strict=True)


def offered(count: int) -> tuple[dict[str, Any], ...]:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    return tuple(
        {"type": "function", "function": {"name": f"tool{number}", "parameters": schema}}
        for number in range(count)
    )


def request(count: int, use: ToolUse, constraint: Constraint | None = None) -> Request:
    chat = Chat((Message("user", "hi"),), tools=offered(count))
    return Request(chat, tool_use=use, constraint=constraint, n=2)


def test_what_fails_lets_go_and_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    guides = constraints(PLAIN).held(request(1, STRICT), RENDERED, may_think=True, room=10**6)
    held = guides[0]
    assert isinstance(held, Lenient)
    begun = '<tool_call>\n{"name": "tool0", "arguments": {"a": '
    for token in MODEL.tokenize(begun, add_special=False, parse_special=True):
        held.accept(token)
    mask = held.mask()
    assert mask is not None and ord("x") not in allowed(held) and ord("1") in allowed(held)
    assert held.fitting([ord("1"), ord("x")]) == 1
    held.accept(ord("x"))  # what no mask allowed stands for what fails within
    assert (held.mask(), held.forced(), held.done, held.error) == (None, [], False, None)
    assert held.fitting([1, 2, 3]) == 3
    held.accept(ord("y"))
    (line,) = caplog.messages
    assert "not held to the schemas of their tools" in line
    assert isinstance(guides[1], Lenient) and guides[1].mask() is not None


@pytest.mark.parametrize("format", ["hermes", "qwen-xml", "functionary-recipients"])
def test_too_many_tools_are_offered_all_the_same_or_refused_at_once(
    format: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = constraints(PLAIN, format)
    call = FORMATS[format].layouts[0].written([("", "tool2999", {"a": 1})])
    for guide in filter(
        None, held.held(request(3000, STRICT), RENDERED, may_think=True, room=10**6)
    ):
        for token in MODEL.tokenize(call, add_special=False, parse_special=True):
            mask = guide.mask()
            assert mask is None or mask[token // 8] >> token % 8 & 1
            guide.accept(token)
        assert guide.error is None
    assert any("too many to be held to" in m or "too complex" in m for m in caplog.messages)
    must = ToolUse("required")
    for rendered in (RENDERED, Rendered("<think>", thinking_open=True)):
        with pytest.raises(InvalidRequest, match=r"too many.*65,000 rules or 2,000 names") as said:
            held.held(request(3000, must), rendered, may_think=True, room=10**6)
        assert said.value.param == "tools"


def test_what_does_not_make_a_grammar_is_named_whichever_it_is() -> None:
    held = constraints(PLAIN)
    fine = Constraint("choice", ("yes", "no"), "choice")
    with pytest.raises(InvalidRequest) as said:
        held.held(request(3000, ToolUse(), fine), RENDERED, may_think=True, room=10**6)
    assert said.value.param == "tools"
    loop = Constraint("json_schema", {"$ref": "#"}, "response_format")
    with pytest.raises(InvalidRequest) as said:
        held.held(request(1, ToolUse(), loop), RENDERED, may_think=True, room=10**6)
    assert said.value.param == "response_format"


def test_hundreds_of_tools_are_held(caplog: pytest.LogCaptureFixture) -> None:
    right = '<tool_call>\n{"name": "tool299", "arguments": {"a": 1}}\n</tool_call>'
    for use in (STRICT, ToolUse("required")):
        found = constraints(PLAIN).guides(request(400, use), RENDERED, may_think=True, room=10**6)
        assert takes(found[0], right) and not takes(found[1], right.replace("1}", '"x"}'))
    assert not caplog.messages
