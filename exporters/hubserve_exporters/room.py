"""Whether a disk has room for what is about to be written."""

import shutil
from pathlib import Path

from hubserve_exporters.errors import MAKE_ROOM, ExportError
from hubserve_exporters.units import size_text


def free_room(folder: Path) -> int:
    """The bytes that are free on the disk of a folder. Raises OSError."""
    return shutil.disk_usage(folder).free


def check_room(
    folder: Path, needed: int, free: int | None = None, *, beside: str = "", step: str = MAKE_ROOM
) -> None:
    """Raises ExportError, with the next `step`, if fewer bytes are free than needed.

    `free` is what counts as such, if that is not all that the folder's disk has free; what it
    stands `beside` is said then. Raises OSError.
    """
    if free is None:
        free = free_room(folder)
    if needed > free:
        raise ExportError(
            f"{folder} has {size_text(max(0, free))} free{beside}, and {size_text(needed)} are"
            f" needed: {step}."
        )
