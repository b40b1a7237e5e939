"""What real templates make of calls is read back as the same calls."""

import json
from typing import Any

import pytest
from tests.engine.output.test_scanner import TOOLS
from tests.engine.prompt.test_real_templates import EXPECTED, template

from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Scanner
from hubserve_engine.types import Chat, Message, ToolCall, ToolUse

pytestmark = pytest.mark.templates

FIRST = {
    "city": "São \"Paulo\"\nand 'more'",
    "days": 3,
    "warm": True,
    "places": ["a", "b"],
    "more": {"a": 1.5},
}
SECOND = {"city": "Rome"}
CALLS = (
    ToolCall("call_0123456789", "get_weather", json.dumps(FIRST)),
    ToolCall("call_0123456790", "get_weather", json.dumps(SECOND)),
)
ASK = Message("user", "wordask")
RESULTS = (
    Message("tool", "wordresult", tool_call_id=CALLS[0].id),
    Message("tool", "wordoutcome", tool_call_id=CALLS[1].id),
)


def written(name: str) -> str:
    """What the template makes of the calls, up to the first result."""
    history = (ASK, Message("assistant", None, tool_calls=CALLS), *RESULTS)
    chat = Chat(history, tools=(TOOLS[0],), add_generation_prompt=False)
    text = template(name).render(chat, reasoning="auto").text
    return text.partition("wordask")[2].partition("wordresult")[0]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_call_in_a_history_is_read_back(name: str) -> None:
    found = template(name)
    scanner = Scanner(found.tool_format, Offer(TOOLS, ToolUse()))
    text = written(name)
    pieces = [piece for char in text for piece in scanner.feed(char)]
    calls: list[str] = []
    for piece in (*pieces, *scanner.finish(stopped=True)):
        if isinstance(piece, Call):
            calls += [""] * (piece.name is not None)
            calls[-1] += piece.arguments
    read: list[dict[str, Any]] = [json.loads(arguments) for arguments in calls]
    # Some templates have one call a message, and the second one comes behind the result.
    assert read in ([FIRST, SECOND], [FIRST])
