"""Checkpoints whose weights are pickles, which are programs: only for those who ask for it.

torch reads them in a process of its own, in the mode that builds tensors and nothing else, and from
a version whose known holes in that mode are closed.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hubserve_exporters.checkpoint import (
    INDEX,
    MAX_TEXT_BYTES,
    WEIGHTS,
    Checkpoint,
    open_checkpoint,
)
from hubserve_exporters.errors import TEMPORARY, ExportError
from hubserve_exporters.isolated.call import call
from hubserve_exporters.vocab.files import MORE_TEMPLATES

_PATTERNS = ("pytorch_model.bin", "pytorch_model-*-of-*.bin")
_OTHERS = (".json", ".jinja", ".txt", ".model", ".md")


@contextmanager
def opened(
    checkpoint: str | os.PathLike[str] | Checkpoint, *, allow_pickle: bool
) -> Iterator[Checkpoint]:
    """The checkpoint in a folder, or the one that is given.

    With `allow_pickle` one that has only pickles is opened as a copy with safetensors, which is in
    the folder for temporary files, and goes away. Raises ExportError.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    pickles = sorted(path for pattern in _PATTERNS for path in checkpoint.folder.glob(pattern))
    if not allow_pickle or not pickles or checkpoint.file(WEIGHTS) or checkpoint.file(INDEX):
        yield checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="hubserve-") as name:
        copy = Path(name)
        _copy_others(checkpoint, copy)
        files = [path for pickled in pickles if (path := checkpoint.file(pickled.name))]
        arguments = {"files": list(map(str, files)), "target": str(copy / WEIGHTS)}
        call("unpickling", arguments, doing=f"reading {pickles[0].name}")
        yield open_checkpoint(copy)


def _copy_others(checkpoint: Checkpoint, copy: Path) -> None:
    """Copies all small files; what they are is looked at when they are read."""
    templates = sorted((checkpoint.folder / MORE_TEMPLATES).glob("*.jinja"))
    for path in (*checkpoint.folder.iterdir(), *templates):
        if path.suffix not in _OTHERS or not path.is_file():
            continue
        name = path.relative_to(checkpoint.folder)
        real = checkpoint.file(str(name))
        if real is None:
            continue
        if real.stat().st_size > MAX_TEXT_BYTES:
            raise ExportError(f"{name} is larger than {MAX_TEXT_BYTES >> 20} MiB.")
        try:
            (copy / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(real, copy / name)
        except OSError as error:
            raise ExportError(
                f"{path} cannot be copied to {copy.parent}: {error.strerror}; {TEMPORARY}."
            ) from error
