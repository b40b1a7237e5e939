"""A bar on the terminal for work that is measured in bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


@contextmanager
def bar(doing: str, then: str) -> Iterator[Callable[[int, int], None]]:
    """Takes how many bytes are done, and how many there are; what comes `then` has no measure.

    Nothing is shown where nobody watches.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(doing, total=None)

        def report(done: int, total: int) -> None:
            description = doing if done < total else then
            progress.update(task, completed=done, total=total, description=description)

        yield report
