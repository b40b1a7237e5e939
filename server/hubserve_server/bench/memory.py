"""Memory of a server: all its processes, while requests run."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psutil

INTERVAL = 0.1
"""Seconds between two looks."""


def of_tree(pid: int) -> int:
    """Bytes of a process and all below it; what they share is counted once where the system tells
    (PSS, on Linux), and once in each (RSS) elsewhere."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += _of(process)
    return total


def _of(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    return int(getattr(full, "pss", full.rss))


class Peak:
    """The most that was seen, in bytes."""

    def __init__(self) -> None:
        self.bytes = 0

    def look(self, pid: int) -> int:
        now = of_tree(pid)
        self.bytes = max(self.bytes, now)
        return now


@asynccontextmanager
async def watched(pid: int) -> AsyncGenerator[Peak, None]:
    """Looks again and again while the block runs."""
    peak = Peak()

    async def watch() -> None:
        while True:
            await asyncio.to_thread(peak.look, pid)
            await asyncio.sleep(INTERVAL)

    watching = asyncio.create_task(watch())
    try:
        yield peak
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
