"""The command `hubserve cache`: what prefixes take on disk, and an end to them."""

from pathlib import Path

from hubserve_engine.errors import StartError
from hubserve_engine.prefix_store.folder import CacheUnusable, Folder, Usage, default_folder
from hubserve_engine.units import size_text


def show(cache: Path | None) -> None:
    """Raises StartError."""
    folder = Folder((cache or default_folder()).absolute())
    try:
        print(f"{folder.path}: {_text(folder.usage())}")
    except CacheUnusable as error:
        raise StartError(str(error)) from error


def clear(cache: Path | None) -> None:
    """Servers that run go on; what they hold in memory they keep. Raises StartError."""
    folder = Folder((cache or default_folder()).absolute())
    try:
        print(f"{folder.path}: removed {_text(folder.clear())}")
    except CacheUnusable as error:
        raise StartError(str(error)) from error


def _text(usage: Usage) -> str:
    return f"{usage.files} file{'' if usage.files == 1 else 's'}, {size_text(usage.size)}"
