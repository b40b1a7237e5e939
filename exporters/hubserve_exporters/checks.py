"""What a file has to pass before it gets its name."""

from collections.abc import Sequence
from pathlib import Path

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.export_config import CheckLevel
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import open_gguf


def check(files: Sequence[Path], checkpoint: Checkpoint, level: CheckLevel) -> list[str]:
    """What was checked, as the user is told. Raises ExportError if something is wrong.

    `files` are the parts of the model, the first one first; they have the names that they are to
    have, in a folder where nobody looks for them yet.
    """
    for path in files:
        try:
            open_gguf(path).close()
        except GGUFError as error:
            raise ExportError(f"The file that was written is not sound: {error}.") from error
    return ["structure"]
