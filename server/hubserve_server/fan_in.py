"""Several prompts of one HTTP request, as one stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from hubserve_engine.types import Completed, Delta, Event, Finished, Started
from hubserve_server.translate.counts import add_timings, add_usage

Item = Event | Exception


async def fan_in(
    streams: Sequence[AsyncGenerator[Event, None]], *, n: int
) -> AsyncGenerator[Event, None]:
    """Runs the streams side by side; choice `i` of stream `p` becomes choice `p * n + i`.

    There is one `Started`, when all have started, and one `Completed`, with the sums. The first
    failure of any of them ends all. Closing this closes them.
    """
    items: asyncio.Queue[tuple[int, Item]] = asyncio.Queue(maxsize=1)
    tasks = [
        asyncio.create_task(_forward(position, stream, items))
        for position, stream in enumerate(streams)
    ]
    started: list[Started] = []
    early: list[Event] = []
    completed: list[Completed] = []
    try:
        while len(completed) < len(streams):
            position, item = await items.get()
            match item:
                case Exception():
                    raise item
                case Started():
                    started.append(item)
                    if len(started) == len(streams):
                        yield Started(sum(each.prompt_tokens for each in started))
                        for event in early:
                            yield event
                case Completed():
                    completed.append(item)
                case Delta() | Finished():
                    event = replace(item, index=position * n + item.index)
                    if len(started) < len(streams):
                        early.append(event)
                    else:
                        yield event
        yield Completed(
            usage=add_usage(each.usage for each in completed),
            timings=add_timings(each.timings for each in completed),
        )
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _forward(
    position: int, stream: AsyncGenerator[Event, None], items: asyncio.Queue[tuple[int, Item]]
) -> None:
    try:
        async with aclosing(stream):
            async for event in stream:
                await items.put((position, event))
    except Exception as error:  # Whatever it is, it is raised again by the one who reads.
        await items.put((position, error))
