"""The end of an answer: its counts belong to the chunk that says how the last choice ended."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass

from hubserve_engine.types import Completed, Delta, Event, Finished, ToolCallDelta
from hubserve_server.translate.counts import timings, usage
from hubserve_server.translate.heading import Heading, Reply


@dataclass(frozen=True, slots=True)
class Ending:
    """How the last choice ended, with the counts of the whole answer."""

    finished: Finished
    completed: Completed


async def with_ending(
    events: AsyncIterator[Event],
) -> AsyncGenerator[Delta | ToolCallDelta | Finished | Ending, None]:
    """The events, with the last `Finished` and the `Completed` that follows it as one.

    A `Finished` waits for the next event, which follows it at once.
    """
    held: Finished | None = None
    async for event in events:
        match event:
            case Completed():
                if held is None:
                    break
                yield Ending(held, event)
                return
            case Delta() | ToolCallDelta() | Finished():
                if held is not None:
                    yield held
                held = event if isinstance(event, Finished) else None
                if held is None:
                    yield event
    raise RuntimeError("the engine ended an answer without completing it")


def last_chunks(
    heading: Heading, completed: Completed, chunk: Reply, *, include_usage: bool
) -> Iterator[Reply]:
    """The chunk that says how the last choice ended, and one with the usage, where it was asked
    for. The last one carries the timings."""
    heading.on_completed(completed)
    if include_usage:
        yield chunk
        chunk = heading.bare(type(chunk))
        chunk.usage = usage(completed.usage)
    chunk.timings = timings(completed.timings)
    yield chunk
