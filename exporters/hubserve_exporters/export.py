"""A checkpoint becomes a GGUF file: planned, written aside, checked, and only then there."""

import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hubserve_exporters.aside import aside
from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.checks import check
from hubserve_exporters.errors import ExportError, unwritable
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.parts import Part, parts_of
from hubserve_exporters.pickles import opened
from hubserve_exporters.plan import plan_export
from hubserve_exporters.quantize import quantize, scheme_of, unquantized
from hubserve_exporters.room import check_room
from hubserve_exporters.writing import Report, sync, write_parts

Room = Callable[[Path, int], None]
"""Takes a folder, and how many bytes it is to have room for; raises if there is not."""

_BOTH = 1.6
"""What a file and the quantized one that is made of it take together, as a share of the former."""


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
    room: Room = check_room,
) -> Exported:
    """Writes the checkpoint, a folder or an open one, to `config.out_path`.

    `room` is asked for room for all that will be there at once, before any of it is.

    Raises ExportError, with the next step, for whatever stands against it; then nothing is at the
    path that was not there before.
    """
    scheme = scheme_of(config.dtype, config.importance)
    with opened(checkpoint, allow_pickle=config.allow_pickle) as source:
        plan = plan_export(source, unquantized(config))
        parts = parts_of(plan, unquantized(config))
        target = config.out_path.parent
        final = [target / part.name for part in parts]
        with aside(config.out_path) as folder:
            for place in final:
                if place.is_dir():
                    raise ExportError(f"{place} is a folder; name a file.")
            needed = sum(part.size for part in parts)
            if config.vocab_only:
                scheme = None
            if scheme:
                needed = math.ceil(_BOTH * needed)
            room(target, needed)
            try:
                if scheme:
                    files = _write_quantized(parts, scheme, config, folder, needed, report)
                else:
                    files = write_parts(parts, folder, report)
            except OSError as error:
                raise unwritable(config.out_path, error, needed) from error
            known_error = plan.mapped.architecture.known_error
            checked = check(files, source, config.check, known_error=known_error)
            size = sum(path.stat().st_size for path in files)
            types = _types(files)
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


def _write_quantized(
    parts: Sequence[Part],
    scheme: str,
    config: GGUFExportConfig,
    folder: Path,
    needed: int,
    report: Report,
) -> list[Path]:
    """As the checkpoint has its numbers first, and from that by llama.cpp: both halves report."""
    unquantized = folder / "unquantized"
    unquantized.mkdir()
    sources = write_parts(parts, unquantized, lambda written, total: report(written, 2 * total))
    targets = [folder / part.name for part in parts]
    total = sum(part.size for part in parts)
    quantize(
        sources,
        targets,
        scheme,
        importance=config.importance,
        needed=needed,
        report=lambda share: report(total + int(share * total), 2 * total),
    )
    shutil.rmtree(unquantized)
    for target in targets:
        sync(target)
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


def _sync_folder(folder: Path) -> None:
    """The names are on disk as well, where the system has that."""
    if os.name == "posix":
        sync(folder)
