"""The command `hubserve cache`: what prefixes take on disk, and an end to them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hubserve_engine.config import CACHE_VARIABLE
from hubserve_engine.errors import StartError
from hubserve_engine.prefix_store.folder import CacheUnusable, Folder, Usage, default_folder
from hubserve_engine.units import counted, size_text


def cache(
    action: Annotated[
        Literal["show", "clear"],
        typer.Argument(metavar="show|clear", help="What to do.", show_default=False),
    ] = "show",
    cache_dir: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="DIR", help=f"The folder. Also {CACHE_VARIABLE}."),
    ] = None,
) -> int:
    """Show or clear the prefixes that are kept on disk, also while servers run."""
    folder = Folder((cache_dir or default_folder()).absolute())
    try:
        if action == "clear":
            # Servers that run go on; what they hold in memory they keep.
            print(f"{folder.path}: removed {_text(folder.clear())}")
        else:
            print(f"{folder.path}: {_text(folder.usage())}")
    except CacheUnusable as error:
        raise StartError(str(error)) from error
    return 0


def _text(usage: Usage) -> str:
    return f"{counted(usage.files, 'file')}, {size_text(usage.size)}"
