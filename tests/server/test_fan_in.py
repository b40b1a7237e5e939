"""Several streams of events as one."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from hubserve_engine.errors import WorkerDied
from hubserve_engine.types import (
    Completed,
    Delta,
    Event,
    Finished,
    Started,
    Timings,
    Usage,
)
from hubserve_server.fan_in import fan_in


async def events(text: str, *, wait: float = 0.0) -> AsyncGenerator[Event, None]:
    await asyncio.sleep(wait)
    yield Started(2)
    yield Delta(0, "content", text)
    yield Delta(1, "content", text)
    yield Finished(0, "stop", 1)
    yield Finished(1, "stop", 1)
    yield Completed(Usage(2, 1, 2, 0), Timings(1, 1, 5.0, 2, 6.0))


def test_choices_are_numbered_through_and_counts_added() -> None:
    async def run() -> list[Event]:
        streams = [events("a"), events("b", wait=0.05)]
        return [event async for event in fan_in(streams, n=2)]

    first, *middle, last = asyncio.run(run())
    assert first == Started(4)
    assert {(e.index, e.text) for e in middle if isinstance(e, Delta)} == {
        (0, "a"),
        (1, "a"),
        (2, "b"),
        (3, "b"),
    }
    assert sorted(e.index for e in middle if isinstance(e, Finished)) == [0, 1, 2, 3]
    assert last == Completed(Usage(4, 2, 4, 0), Timings(2, 2, 10.0, 4, 12.0))


def test_the_first_failure_ends_all() -> None:
    closed: list[str] = []

    async def endless() -> AsyncGenerator[Event, None]:
        try:
            yield Started(1)
            await asyncio.sleep(60)
        finally:
            closed.append("endless")

    async def failing() -> AsyncGenerator[Event, None]:
        yield Started(1)
        raise WorkerDied("It ended.")

    async def run() -> None:
        async for _ in fan_in([endless(), failing()], n=1):
            pass

    with pytest.raises(WorkerDied):
        asyncio.run(run())
    assert closed == ["endless"]


def test_closing_it_closes_every_stream() -> None:
    closed: list[int] = []

    async def endless(number: int) -> AsyncGenerator[Event, None]:
        try:
            yield Started(1)
            while True:
                yield Delta(0, "content", "x")
        finally:
            closed.append(number)

    async def run() -> None:
        stream = fan_in([endless(1), endless(2)], n=1)
        await anext(stream)
        await anext(stream)
        await stream.aclose()

    asyncio.run(run())
    assert sorted(closed) == [1, 2]
