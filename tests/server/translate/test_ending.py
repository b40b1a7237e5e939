"""The end of an answer and its counts come as one."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from hubserve_engine.types import Completed, Delta, Event, Finished, Timings, ToolCallDelta, Usage
from hubserve_server.translate.ending import Ending, with_ending

DELTA = Delta(0, "content", "a")
FIRST, SECOND = Finished(0, "stop", 1), Finished(1, "length", 1)
COMPLETED = Completed(Usage(1, 0, 2, 0), Timings(0, 1, 1.0, 2, 1.0))


def play(*events: Event) -> list[Delta | ToolCallDelta | Finished | Ending]:
    async def source() -> AsyncGenerator[Event, None]:
        for event in events:
            yield event

    async def run() -> list[Delta | ToolCallDelta | Finished | Ending]:
        return [event async for event in with_ending(source())]

    return asyncio.run(run())


def test_the_last_finish_waits_for_the_counts() -> None:
    assert play(DELTA, FIRST, COMPLETED) == [DELTA, Ending(FIRST, COMPLETED)]


def test_an_earlier_finish_keeps_its_place() -> None:
    played = play(DELTA, SECOND, DELTA, FIRST, COMPLETED)
    assert played == [DELTA, SECOND, DELTA, Ending(FIRST, COMPLETED)]
    assert play(SECOND, FIRST, COMPLETED) == [SECOND, Ending(FIRST, COMPLETED)]


@pytest.mark.parametrize("events", [(), (DELTA,), (DELTA, FIRST), (DELTA, COMPLETED)])
def test_an_answer_that_is_not_completed_is_a_fault(events: tuple[Event, ...]) -> None:
    with pytest.raises(RuntimeError, match="without completing"):
        play(*events)
