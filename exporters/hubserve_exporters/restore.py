"""A GGUF file becomes the checkpoint that it was made from, as transformers loads it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from hubserve_exporters.aside import aside
from hubserve_exporters.checkpoint import WEIGHTS
from hubserve_exporters.encoding import rounded
from hubserve_exporters.errors import ExportError, unwritable
from hubserve_exporters.gguf_reader import GGUFReader
from hubserve_exporters.room import check_room
from hubserve_exporters.safetensors_file import encode_directory, numpy_dtype
from hubserve_exporters.source import Source, read_source
from hubserve_exporters.state_dict import groups_of, restored
from hubserve_exporters.vocab.restore import tokenizer_files

Report = Callable[[int, int], None]
"""Takes how many bytes are written, and how many there will be."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of it; `notes` are sentences on what the checkpoint had, and the file has not."""

    folder: Path
    files: tuple[str, ...]
    tensors: int
    notes: tuple[str, ...]


def restore_checkpoint(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    report: Report = lambda written, total: None,
) -> Restored:
    """Writes config.json, the tokenizer's files and the weights into a new folder.

    Every tensor has the type that it had in the checkpoint: bit for bit its numbers, where the
    file's type holds them, else the nearest to those of the file. Raises ExportError, with the next
    step, if `export_gguf` did not write the file or the folder is there; GGUFError and OSError if
    the file cannot be read. The folder has its name only when all is in it.
    """
    target = Path(folder)
    if target.exists():
        raise ExportError(f"{target} is there already; name a folder that is not.")
    with GGUFReader(path) as reader, aside(target) as place:
        source = read_source(reader.metadata)
        files = _files(reader, source)
        needed = sum(map(len, files.values())) + sum(_sizes(source).values())
        check_room(target.parent, needed)
        made = place / "checkpoint"
        try:
            made.mkdir()
            for name, data in files.items():
                (made / name).parent.mkdir(exist_ok=True)
                (made / name).write_bytes(data)
            _write_weights(made / WEIGHTS, reader, source, report)
        except OSError as error:
            raise unwritable(target, error, needed) from error
        made.rename(target)
    return Restored(target, (*files, WEIGHTS), len(source.tensors), tuple(_notes(source)))


def _files(reader: GGUFReader, source: Source) -> Mapping[str, bytes]:
    """All but the weights. A tokenizer that was too large to be kept is made again."""
    if source.missing and "tokenizer.ggml.tokens" in reader.metadata:
        return {**tokenizer_files(reader.metadata), **source.files}
    return source.files


def _sizes(source: Source) -> dict[str, int]:
    """The bytes of every tensor, in the order in which they are restored."""
    names = [name for group in groups_of(source) for name in group.sources]
    tensors = {name: source.tensors[name] for name in names}
    return {name: prod(t.shape) * numpy_dtype(t.dtype).itemsize for name, t in tensors.items()}


def _write_weights(path: Path, reader: GGUFReader, source: Source, report: Report) -> None:
    sizes = _sizes(source)
    entries = {name: (source.tensors[name].dtype, source.tensors[name].shape) for name in sizes}
    total = sum(sizes.values())
    written = 0
    with path.open("wb") as file:
        file.write(encode_directory(entries))
        for name, values in restored(reader, source):
            written += file.write(rounded(values, numpy_dtype(entries[name][0])).tobytes())
            report(written, total)
        file.flush()
        os.fsync(file.fileno())


def _notes(source: Source) -> list[str]:
    notes = []
    if source.dropped:
        more = len(source.dropped) - _NAMED
        listing = ", ".join(source.dropped[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"The export left out {listing}: they are not restored.")
    if source.missing:
        notes.append(
            f"{', '.join(source.missing)} did not fit into the file: the tokenizer is made of what"
            " llama.cpp reads; the original's is to be preferred."
        )
    return notes
