"""The error of exporting, restoring, checking and publishing."""

import errno
from pathlib import Path


class ExportError(Exception):
    """It cannot be done; the message is a sentence with the value and the next step."""


AS_IT_IS = "To serve the checkpoint as it is, use --engine transformers."
"""The next step where llama.cpp has nothing to run it with."""
MAKE_ROOM = "make room there, or write to another disk (-o; --cache-dir where it is served)"
"""The next step where a disk is full."""
TEMPORARY = "make room there, or name another folder for temporary files with TMPDIR"
"""The next step where the folder for temporary files has no room."""
_ELSEWHERE = "name another place (-o; --cache-dir where it is served)"
_STEPS = {
    errno.ENOSPC: MAKE_ROOM,
    errno.EDQUOT: MAKE_ROOM,
    errno.EFBIG: "no file may be so large there: write smaller parts (--split-max-size)",
}


def unwritable(path: Path, error: OSError) -> ExportError:
    """The error that the path could not be written, for the system's reason."""
    step = _STEPS.get(error.errno or 0, _ELSEWHERE)
    return ExportError(f"{path} cannot be written: {error.strerror or error}; {step}.")
