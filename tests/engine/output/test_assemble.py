"""Events in, events out: what an answer with tool calls consists of."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from hubserve_engine.output.assemble import with_calls
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import (
    Completed,
    Delta,
    Event,
    Finished,
    FinishReason,
    Started,
    Timings,
    TokenLogprob,
    TokenProbability,
    ToolCallDelta,
    ToolUse,
    Usage,
    WorkerEvent,
)

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
COMPLETED = Completed(Usage(1, 0, 2, 0), Timings(0, 1, 1.0, 2, 1.0))


def assembled(
    events: Sequence[WorkerEvent],
    use: ToolUse | None = None,
    tools: Sequence[dict[str, Any]] = TOOLS,
) -> list[Event]:
    async def source() -> AsyncGenerator[WorkerEvent, None]:
        for event in events:
            yield event

    async def run() -> list[Event]:
        told = with_calls(source(), FORMATS["hermes"], tools, use or ToolUse())
        return [event async for event in told]

    return asyncio.run(run())


def answer(*texts: str, index: int = 0, reason: FinishReason = "stop") -> list[WorkerEvent]:
    return [*(Delta(index, "content", text) for text in texts), Finished(index, reason, 3)]


def test_what_is_no_call_passes() -> None:
    thought = Delta(0, "reasoning", CALL)
    events = [Started(3), thought, *answer("Hello."), COMPLETED]
    assert assembled(events) == events


def test_a_call_has_its_id_and_name_once() -> None:
    told = assembled([*answer(*CALL), COMPLETED])
    deltas = [event for event in told if isinstance(event, ToolCallDelta)]
    assert [bool(delta.id) for delta in deltas] == [True] + [False] * (len(deltas) - 1)
    assert deltas[0].name == "look"
    assert "".join(delta.arguments for delta in deltas) == '{"at": 1}'
    assert [event.reason for event in told if isinstance(event, Finished)] == ["tool_calls"]
    assert not any(isinstance(event, Delta) for event in told)


def test_choices_are_read_each_by_itself() -> None:
    half = len(CALL) // 2
    first, second = answer(CALL[:half], CALL[half:]), answer(CALL, index=1)
    mixed = [first[0], second[0], first[1], second[1], first[2]]
    deltas = [e for e in assembled(mixed) if isinstance(e, ToolCallDelta) and e.id]
    assert sorted((delta.index, delta.call) for delta in deltas) == [(0, 0), (1, 0)]
    assert deltas[0].id != deltas[1].id


def test_a_cut_call_is_told_with_the_end() -> None:
    (*_, finished) = assembled(answer(CALL[:-20], reason="length"))
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.cut) == ("length", CALL[:-20])


@pytest.mark.parametrize("size", range(1, len(CALL)))
def test_behind_a_required_call_half_a_call_is_not_told(size: int) -> None:
    told = assembled(answer(CALL, "\n" + CALL[:size], reason="length"), ToolUse("required"))
    assert not any(isinstance(event, Delta) for event in told)
    finished = told[-1]
    assert isinstance(finished, Finished) and finished.reason == "length" and not finished.cut
    calls = [event for event in told if isinstance(event, ToolCallDelta) and event.id]
    assert len(calls) - (finished.cut is not None) in (1, 2)


def test_the_log_says_where_a_finished_call_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"properties": {"at": {"not": {"const": 1}}}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
    for call, said in ((CALL, 1), (CALL.replace("1", "2"), 0), (CALL[:-20], 0)):
        caplog.clear()
        assembled(answer(*call), tools=tools)
        assert caplog.text.count("'look' has arguments that do not fit 'not' at '/at'") == said


def test_with_no_choice_of_tools_nothing_is_read() -> None:
    events = answer(CALL)
    assert assembled(events, ToolUse("none")) == events


def test_probabilities_wait_for_their_text() -> None:
    def token(offset: int) -> TokenLogprob:
        return TokenLogprob(TokenProbability(offset, b"", 0.0), offset=offset)

    text = f"So <b {CALL}"
    events: list[WorkerEvent] = [
        Delta(0, "content", char, (token(offset),)) for offset, char in enumerate(text)
    ]
    told = assembled([*events, Finished(0, "stop", 9)])
    said = [event for event in told if isinstance(event, Delta)]
    assert "".join(event.text for event in said) == "So <b"
    offsets = [each.offset for event in said for each in event.logprobs]
    assert offsets == list(range(len("So <b")))
