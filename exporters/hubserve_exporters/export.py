"""A checkpoint becomes a GGUF file: planned, written aside, checked, and only then there."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

from filelock import FileLock, Timeout

from hubserve_exporters.ahead import ahead
from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.checks import check
from hubserve_exporters.encoding import encode
from hubserve_exporters.errors import ExportError
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensors import align
from hubserve_exporters.gguf.writer import ALIGNMENT, encode_header, padding
from hubserve_exporters.parts import Part, parts_of
from hubserve_exporters.pickles import opened
from hubserve_exporters.plan import Plan, PlannedTensor, plan_export
from hubserve_exporters.quantize import SCHEMES, check_scheme, quantize
from hubserve_exporters.types import AUTO

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
    if config.out_path.suffix != ".gguf":
        raise ExportError(f"{config.out_path} has to end in .gguf.")
    scheme = config.dtype.lower() if config.dtype.lower() in SCHEMES else None
    if scheme is not None:
        check_scheme(scheme, config.importance)
    elif config.importance is not None:
        raise ExportError(
            f"An importance matrix is of no use for {config.dtype}; choose a type such as q4_k_m."
        )
    with opened(checkpoint, allow_pickle=config.allow_pickle) as source:
        plan = plan_export(source, replace(config, dtype=AUTO) if scheme else config)
        with _aside(config.out_path) as folder:
            if scheme:
                files = _write_quantized(plan, config, scheme, folder, report)
            else:
                files = _write(_parts(plan, config), folder, report)
            known_error = plan.mapped.architecture.known_error
            checked = check(files, source, config.check, known_error=known_error)
            size = sum(path.stat().st_size for path in files)
            types = _types(files)
            target = config.out_path.parent
            final = [target / path.name for path in files]
            # The first part comes last: it is the one that is opened, and asks for the others.
            for path, place in zip(reversed(files), reversed(final), strict=True):
                path.replace(place)
    _sync_folder(target)
    return Exported(
        tuple(final),
        plan.mapped.architecture.gguf,
        size,
        types,
        plan.warnings,
        tuple(checked),
    )


def _parts(plan: Plan, config: GGUFExportConfig) -> list[Part]:
    if config.vocab_only:
        return [Part(config.out_path.name, plan.metadata, ())]
    return parts_of(plan, config.out_path, config.split_max_size)


def _write_quantized(
    plan: Plan, config: GGUFExportConfig, scheme: str, folder: Path, report: Report
) -> list[Path]:
    """As the checkpoint has its numbers first, and from that by llama.cpp: both halves report."""
    out_path, limit = config.out_path, config.split_max_size
    if config.vocab_only:
        return _write([Part(out_path.name, plan.metadata, ())], folder, report)
    aside = folder / "unquantized"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    # No scheme has tensors of more than 8.5 bits that have 16 or 32 in the checkpoint.
    narrowing = 1.8 if limit is not None else 1
    parts = parts_of(plan, out_path, limit and int(limit * narrowing))
    sources = _write(parts, aside, lambda written, total: report(written, 2 * total), more=0.6)
    targets = [folder / part.name for part in parts]
    total = plan.size
    quantize(
        sources,
        targets,
        scheme,
        importance=config.importance,
        report=lambda share: report(total + int(share * total), 2 * total),
    )
    shutil.rmtree(aside)
    for target in targets:
        _sync(target)
    return targets


def _types(files: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """What is really in the files, the largest share first."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path in files:
        with open_gguf(path) as file:
            for tensor in file.tensors.values():
                counts[tensor.type.name] += 1
                sizes[tensor.type.name] += tensor.size
    return {name: (counts[name], size) for name, size in sizes.most_common()}


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


def _write(parts: Sequence[Part], folder: Path, report: Report, *, more: float = 0) -> list[Path]:
    """The files, which are on the disk. `more`, as a share of them, is to be written later."""
    total = sum(align(tensor.size, ALIGNMENT) for part in parts for tensor in part.tensors)
    free, needed = shutil.disk_usage(folder).free, total * (1 + more)
    if needed > free:
        raise ExportError(
            f"{folder.parent} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed:"
            " make room there, or write to another disk."
        )
    written = 0
    for part in parts:
        with open(folder / part.name, "wb", buffering=0) as file:
            entries = [(tensor.name, tensor.type, tensor.shape) for tensor in part.tensors]
            _write_all(file, memoryview(encode_header(part.metadata, entries)))
            # About half of the work is the system's, which writes.
            for data in ahead(_encoded(part.tensors)):
                written += _write_all(file, data)
                report(written, total)
            os.fsync(file.fileno())
    return [folder / part.name for part in parts]


def _encoded(tensors: Sequence[PlannedTensor]) -> Iterator[memoryview]:
    """All that follows the header, in pieces."""
    for tensor in tensors:
        try:
            for values in tensor.numbers.chunks():
                yield encode(values, tensor.type)
        except ExportError as error:
            names = ", ".join(map(repr, tensor.sources[:2])) or repr(tensor.name)
            raise ExportError(f"The tensor {names}: {error}.") from error
        yield memoryview(padding(tensor.size))


def _write_all(file: FileIO, data: memoryview) -> int:
    """The number of bytes, all of which are written, however few the system takes at once."""
    left = data
    while left:
        left = left[file.write(left) :]
    return len(data)


def _sync_folder(folder: Path) -> None:
    """The names are on disk as well, where the system has that."""
    if os.name == "posix":
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
