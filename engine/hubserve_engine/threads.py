"""Blocking work beside the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, run in a thread of its own.

    The thread is a daemon: unlike those of an executor it does not keep the process alive, so
    Ctrl-C during a download ends the program.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(settle: Callable[[], None]) -> None:
        if not future.done():
            settle()

    def run() -> None:
        try:
            settle = partial(future.set_result, work())
        except BaseException as error:
            settle = partial(future.set_exception, error)
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, settle)

    threading.Thread(target=run, name="beside", daemon=True).start()
    return await future
