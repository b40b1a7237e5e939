"""What is right and what is not, as a client would feel it."""

from dataclasses import dataclass

import pytest

from hubserve_server.eval.asking import Made, Reply
from hubserve_server.eval.cases import Case, CaseSet, Tool
from hubserve_server.eval.judging import judge

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}
CASES = CaseSet({"read": Tool("Read.", SCHEMA), "stop": Tool("Stop.", {})}, (), ())
WANTED = Case("x", "X?", ("read", "stop"), expect=({"read": {"path": "a", "lines": 2}},))
TEXT = Case("x", "X?", ("read",))


@dataclass
class Right:
    """A call that is right, and what is changed in it."""

    id: str = "c"
    name: str = "read"
    arguments: str = '{"path": "a\\n", "lines": 2}'
    text: str = "Let me see."
    finish_reason: str = "tool_calls"

    def reply(self) -> Reply:
        calls = (Made(self.id, self.name, self.arguments),)
        return Reply(self.text, calls=calls, finish_reason=self.finish_reason)


def test_a_right_call() -> None:
    assert judge(CASES, WANTED, Right().reply()) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Right(name="stop"), "calls of stop"),
        (Right(arguments='{"path": "b", "lines": 2}'), 'not called with \'{"path": "a"'),
        (Right(arguments='{"path": "a", "lines": "2"}'), "do not fit: '2' is not of type"),
        (Right(arguments='{"path": "a", "lines": 2'), "are no JSON"),
        (Right(text='```json\n{"name"'), "false text beside the call"),
        (Right(text="</tool_call>"), "false text beside the call"),
        (Right(finish_reason="stop"), "but the finish reason 'stop'"),
    ],
)
def test_a_wrong_call(given: Right, said: str) -> None:
    assert said in str(judge(CASES, WANTED, given.reply()))


def test_each_call_that_is_expected_must_be_there_once() -> None:
    both = Case("x", "X?", ("read",), expect=({"read": {"path": "a"}}, {"read": {"path": "b"}}))
    a, b = (Made(name, "read", f'{{"path": "{name}"}}') for name in "ab")

    def judged(*calls: Made) -> str | None:
        return judge(CASES, both, Reply(calls=calls, finish_reason="tool_calls"))

    assert judged(a, b) is None and judged(b, a) is None
    assert "not called with" in str(judged(a, a))
    assert judged(a) == "calls of read"


def test_text_that_was_to_be_a_call() -> None:
    reply = Reply('{"name": "read"}', finish_reason="stop")
    assert judge(CASES, WANTED, reply) == (
        "no call, but 'stop' and the text '{\"name\": \"read\"}'"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Right(arguments='{"path": "anything"}'), None),
        (Right(name="stop"), "not one call of read: 'stop {"),
        (Right(arguments='{"path": 1}'), "do not fit: 1 is not of type"),
        (Right(finish_reason="stop"), "a call, but the finish reason 'stop'"),
        (Right(finish_reason="length"), None),
        (Right(arguments='{"path": "any', finish_reason="length"), "cut off before the call"),
    ],
)
def test_a_call_that_was_forced_need_not_make_sense(given: Right, said: str | None) -> None:
    case = Case("x", "X?", ("read", "stop"), forced=("read",))
    judged = judge(CASES, case, given.reply())
    assert judged == said if said is None else said in str(judged)
    cut = judge(CASES, case, Reply(finish_reason="length"))
    assert cut == "cut off before the call was whole"


def test_text_that_was_wanted() -> None:
    assert judge(CASES, TEXT, Reply("```json\n{}\n```", finish_reason="stop")) is None
    assert judge(CASES, TEXT, Reply(" ", finish_reason="stop")) == "neither text nor a call"
    assert "a false call: 'read {" in str(judge(CASES, TEXT, Right().reply()))


def test_a_fault_of_the_way_it_came_is_wrong_whatever_it_says() -> None:
    reply = Reply("Hello.", finish_reason="stop", faults=("2 finish reasons in a stream",))
    assert judge(CASES, TEXT, reply) == "2 finish reasons in a stream"
