"""The end of an answer: its counts belong to the chunk that says how the last choice ended."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from hubserve_engine.types import Completed, Delta, Event, Finished, ToolCallDelta


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
