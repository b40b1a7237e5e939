"""The command `hubserve restore`: a GGUF file becomes a checkpoint again."""

from pathlib import Path
from typing import Annotated

import typer

from hubserve_server.export.bar import bar
from hubserve_server.export.ending import cleared_up
from hubserve_server.export.explained import explained
from hubserve_server.export.summary import notes


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A GGUF file that `hubserve export` made.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="A folder that is not there yet.")
    ],
) -> int:
    """Make a checkpoint of a GGUF file, as transformers loads it."""
    with explained(), cleared_up():
        from hubserve_exporters import restore_checkpoint

        with bar("Writing ", "Finishing") as report:
            done = restore_checkpoint(file, out, report)
    print(f"{done.folder}: {done.tensors} tensors, {', '.join(done.files)}")
    for line in notes((), done.notes):
        print(line)
    return 0
