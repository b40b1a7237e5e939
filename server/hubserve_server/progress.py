"""What the terminal shows while the model is found, fetched and loaded."""

import asyncio
import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn

from hubserve_server.engine import Engine

LOOK = 0.1
"""Seconds between two looks at the engine."""


async def tell(engine: Engine) -> None:
    """A line for each thing that is begun, and on a terminal a bar while the model is loaded.

    Goes on until the model is loaded, or it is cancelled.
    """
    told = ""
    while engine.stage not in ("loading", "ready"):
        if engine.progress != told:
            told = engine.progress
            print(told, file=sys.stderr, flush=True)
        await asyncio.sleep(LOOK)
    print("Loading the model ...", file=sys.stderr, flush=True)
    console = Console(stderr=True)
    if console.is_terminal:
        await show_bar(engine, console)


async def show_bar(engine: Engine, console: Console) -> None:
    """A bar that is gone when the model is loaded."""
    columns = (BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        while engine.stage == "loading":
            bar.update(task, completed=engine.loaded, refresh=True)
            await asyncio.sleep(LOOK)
