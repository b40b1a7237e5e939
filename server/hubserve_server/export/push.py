"""The command `hubserve push`: a folder with a model onto the Hub."""

from pathlib import Path
from typing import Annotated

import typer

from hubserve_server.export.ending import cleared_up
from hubserve_server.export.explained import explained
from hubserve_server.export.uploading import uploading


def push(
    folder: Annotated[
        Path,
        typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Where the model is."),
    ],
    repo: Annotated[
        str, typer.Argument(metavar="OWNER/REPO", help="Made, private, if it is not there.")
    ],
    public: Annotated[
        bool, typer.Option("--public", metavar="", help="Let everyone see it there.")
    ] = False,
) -> int:
    """Upload a model to the Hub: its own files, and no others. HF_TOKEN or a login says who."""
    with explained(), cleared_up() as ended, uploading() as report:
        from hubserve_exporters.hub import push_to_hub

        pushed = push_to_hub(folder, repo, private=not public, report=report, ended=ended.is_set)
    print(pushed)
    return 0
