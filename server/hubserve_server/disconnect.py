"""A client that leaves ends the work that was done for it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from hubserve_engine.types import Event

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed its connection; nobody is left to be told."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; it is cancelled, and `ClientGone` raised, when the client leaves.

    `receive` must have delivered the whole request body already.
    """
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def begin(receive: Receive, events: AsyncGenerator[Event, None]) -> None:
    """Waits for the first event, so that what fails until then can still be an HTTP status."""
    try:
        await unless_gone(receive, anext(events))
    except BaseException:
        await events.aclose()
        raise
