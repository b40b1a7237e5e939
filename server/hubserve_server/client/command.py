"""What commands that ask servers share: options, progress, an end. It imports nothing heavy."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from hubserve_server.client.errors import ENDED, FAILED, CommandError

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL [FLAG]",
        help="A model to serve and ask, and flags of `serve`.",
        show_default=False,
    ),
]
Url = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask the server at this base URL instead.")
]
ApiKey = Annotated[str | None, typer.Option(metavar="KEY", help="Its key.", show_default=False)]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What to ask it for, if not the first that it lists."),
]
Against = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask this server, too, in turns with it.")
]
AgainstCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND", help="The same, and start it; {port} in the command is its port."
    ),
]
AgainstApiKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="The other's key.", show_default=False)
]
AgainstModel = Annotated[
    str | None, typer.Option(metavar="NAME", help="What to ask the other for.")
]

Tell = Callable[[str], None]
"""Takes a line of progress."""


def tell(line: str) -> None:
    """A line of progress; standard output is for results."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def ending() -> Iterator[None]:
    """Ends the command, in a line, where a server cannot be asked, and without one on SIGTERM."""
    try:
        yield
    except CommandError as error:
        tell(f"hubserve: {error}")
        raise typer.Exit(FAILED) from error
    except asyncio.CancelledError as error:
        raise typer.Exit(ENDED) from error
