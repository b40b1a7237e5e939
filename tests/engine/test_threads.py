import asyncio
import threading
from typing import NoReturn

import pytest

from hubserve_engine.threads import in_thread


def test_the_result_comes_from_another_thread() -> None:
    async def play() -> int:
        return await in_thread(threading.get_ident)

    assert asyncio.run(play()) != threading.get_ident()


def test_the_event_loop_goes_on_meanwhile() -> None:
    async def play() -> str:
        reached = threading.Event()
        work = asyncio.create_task(in_thread(lambda: reached.wait(60)))
        await asyncio.sleep(0)
        reached.set()
        return "on" if await work else "stuck"

    assert asyncio.run(play()) == "on"


def test_an_exception_comes_through() -> None:
    def fail() -> NoReturn:
        raise OSError("no disk")

    async def play() -> None:
        await in_thread(fail)

    with pytest.raises(OSError, match="no disk"):
        asyncio.run(play())


def test_whoever_gave_up_is_not_disturbed() -> None:
    """A download that nobody waits for ends when it ends, in silence, even after the loop."""
    finish = threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        finish.wait(60)

    async def play() -> None:
        task = asyncio.create_task(in_thread(work))
        while not threads:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert threads[0].daemon
    finish.set()
    threads[0].join(60)
