"""A bar on the terminal for work that is measured in bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from hubserve_engine.units import size_text


class _Bytes(ProgressColumn):
    """How much of how much, and how fast, in the units that the summary has."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text()
        rate = f", {size_text(task.speed)}/s" if task.speed else ""
        return Text(f"{size_text(task.completed)} of {size_text(task.total)}{rate}")


@contextmanager
def bar(doing: str, then: str) -> Iterator[Callable[[int, int], None]]:
    """Takes how many bytes are done, and how many there are; what comes `then` has no measure.

    Nothing is shown where nobody watches.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), _Bytes(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(doing, total=None)
        after = progress.add_task(then, total=None, visible=False)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, visible=done < total)
            progress.update(after, visible=done >= total)

        yield report
