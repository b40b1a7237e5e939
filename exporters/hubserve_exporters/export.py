"""A checkpoint becomes a GGUF file: planned, written aside, checked, and only then there."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from filelock import FileLock, Timeout

from hubserve_exporters.checkpoint import Checkpoint, open_checkpoint
from hubserve_exporters.checks import check
from hubserve_exporters.encoding import encode
from hubserve_exporters.errors import ExportError
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.gguf.writer import encode_header, padding
from hubserve_exporters.parts import Part, parts_of
from hubserve_exporters.plan import plan_export

Report = Callable[[int, int], None]
"""Takes how many bytes are written, and how many there will be."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of it. `size` is in bytes, of all files; `types` has, for each type, how many
    tensors and how many bytes are of it; `checked` what was looked at."""

    files: tuple[Path, ...]
    architecture: str
    size: int
    types: dict[str, tuple[int, int]]
    warnings: tuple[str, ...]
    checked: tuple[str, ...]


def export_gguf(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    config: GGUFExportConfig,
    report: Report = lambda written, total: None,
) -> Exported:
    """Writes the checkpoint, a folder or an open one, to `config.out_path`.

    Raises ExportError, with the next step, for whatever stands against it; then nothing is at the
    path that was not there before.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    if config.out_path.suffix != ".gguf":
        raise ExportError(f"{config.out_path} has to end in .gguf.")
    plan = plan_export(checkpoint, config)
    parts = parts_of(plan, config.out_path, config.split_max_size)
    target = config.out_path.parent
    with _aside(config.out_path) as folder:
        _write(parts, folder, report)
        files = [folder / part.name for part in parts]
        checked = check(files, checkpoint, config.check)
        size = sum(path.stat().st_size for path in files)
        final = [path.replace(target / path.name) for path in files]
    _sync_folder(target)
    return Exported(
        tuple(final),
        plan.mapped.architecture.gguf,
        size,
        plan.types(),
        plan.warnings,
        tuple(checked),
    )


@contextmanager
def _aside(out_path: Path) -> Iterator[Path]:
    """A folder beside the path for what is not ready; it goes away, whatever happens.

    What a process that was killed left in it goes away first. Raises ExportError if another one
    writes there now, or if nothing can be written.
    """
    folder = out_path.with_name(f"{out_path.name}.partial")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", timeout=0):
            for left in folder.glob("*.gguf"):
                left.unlink()
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except Timeout:
        raise ExportError(f"Another export to {out_path} is running; wait for it to end.") from None
    except OSError as error:
        raise ExportError(f"{out_path} cannot be written: {error.strerror}.") from error


def _write(parts: Sequence[Part], folder: Path, report: Report) -> None:
    total = sum(tensor.size for part in parts for tensor in part.tensors)
    free = shutil.disk_usage(folder).free
    if total > free:
        raise ExportError(
            f"{folder.parent} has {free / 1e9:.1f} GB free, and {total / 1e9:.1f} GB are needed."
        )
    written = 0
    for part in parts:
        with open(folder / part.name, "wb", buffering=0) as file:
            entries = [(tensor.name, tensor.type, tensor.shape) for tensor in part.tensors]
            _write_all(file, memoryview(encode_header(part.metadata, entries)))
            for tensor in part.tensors:
                try:
                    for values in tensor.numbers.chunks():
                        written += _write_all(file, encode(values, tensor.type))
                        report(written, total)
                except ExportError as error:
                    names = ", ".join(map(repr, tensor.sources[:2])) or repr(tensor.name)
                    raise ExportError(f"The tensor {names}: {error}.") from error
                _write_all(file, memoryview(padding(tensor.size)))
            os.fsync(file.fileno())


def _write_all(file: FileIO, data: memoryview) -> int:
    """The number of bytes, all of which are written, however few the system takes at once."""
    left = data
    while left:
        left = left[file.write(left) :]
    return len(data)


def _sync_folder(folder: Path) -> None:
    """The names are on disk as well, where the system has that."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
