"""What the terminal shows while the model is found, fetched and loaded."""

import asyncio
import sys
from typing import TYPE_CHECKING

from hubserve_engine.types import Stage
from hubserve_server.engine import Engine

if TYPE_CHECKING:
    from rich.console import Console

LOOK = 0.1
"""Seconds between two looks at the engine."""


async def tell(engine: Engine) -> None:
    """A line for each thing that is begun, and on a terminal a bar for what takes long.

    Goes on until the model is loaded, or it is cancelled.
    """
    told = ""
    while engine.stage not in ("loading", "ready"):
        if engine.progress != told:
            told = engine.progress
            print(told, file=sys.stderr, flush=True)
        if engine.stage == "exporting":
            await _show_bar(engine, "exporting")
        await asyncio.sleep(LOOK)
    print("Loading the model ...", file=sys.stderr, flush=True)
    await asyncio.sleep(LOOK)  # what is there at once needs no bar, and what draws one is large
    await _show_bar(engine, "loading")


async def _show_bar(engine: Engine, stage: Stage) -> None:
    """Nothing is drawn into a file."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        await show_bar(engine, console, stage)


async def show_bar(engine: Engine, console: "Console", stage: Stage) -> None:
    """A bar that is gone when this stage is over, or something else is to be told."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn

    columns = (BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        told = engine.progress
        while engine.stage == stage and engine.progress == told:
            bar.update(task, completed=engine.loaded, refresh=True)
            await asyncio.sleep(LOOK)
