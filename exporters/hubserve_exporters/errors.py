"""The error of exporting, restoring, checking and publishing."""

import errno
from pathlib import Path

from hubserve_exporters.units import size_text


class ExportError(Exception):
    """It cannot be done; the message is a sentence with the value and the next step."""


AS_IT_IS = "To serve the checkpoint as it is, use --engine transformers."
"""The next step where llama.cpp has nothing to run it with."""
MAKE_ROOM = "make room there, or write to another disk (-o; --cache-dir where it is served)"
"""The next step where a disk is full."""
TEMPORARY = "make room there, or name another folder for temporary files with TMPDIR"
"""The next step where the folder for temporary files has no room."""
_ELSEWHERE = "name another place (-o; --cache-dir where it is served)"
_SMALLER = "no file may be so large there: write parts (--split-max-size), or"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def unwritable(path: Path, error: OSError, needed: int | None = None) -> ExportError:
    """The error that the path could not be written, for the system's reason.

    `needed` are the bytes that are to be written there in all.
    """
    step = f"; {_ELSEWHERE}"
    if error.errno == errno.EFBIG:
        step = f"; {_SMALLER} {_ELSEWHERE}"
    elif error.errno in _FULL:
        room = "" if needed is None else f", and {size_text(needed)} are needed"
        step = f"{room}: {MAKE_ROOM}"
    return ExportError(f"{path} cannot be written: {error.strerror or error}{step}.")
