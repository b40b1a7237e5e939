"""What the terminal shows while the model is found, fetched and loaded."""

import asyncio
import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn

from hubserve_engine.types import Stage
from hubserve_server.engine import Engine

LOOK = 0.1
"""Seconds between two looks at the engine."""


async def tell(engine: Engine) -> None:
    """A line for each thing that is begun, and on a terminal a bar for what takes long.

    Goes on until the model is loaded, or it is cancelled.
    """
    console = Console(stderr=True)
    told = ""
    while engine.stage not in ("loading", "ready"):
        if engine.progress != told:
            told = engine.progress
            print(told, file=sys.stderr, flush=True)
        if engine.stage == "exporting" and console.is_terminal:
            await show_bar(engine, console, "exporting")
        await asyncio.sleep(LOOK)
    print("Loading the model ...", file=sys.stderr, flush=True)
    if console.is_terminal:
        await show_bar(engine, console, "loading")


async def show_bar(engine: Engine, console: Console, stage: Stage) -> None:
    """A bar that is gone when this stage is over."""
    columns = (BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        while engine.stage == stage:
            bar.update(task, completed=engine.loaded, refresh=True)
            await asyncio.sleep(LOOK)
