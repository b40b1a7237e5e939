"""Planned files onto the disk, where they really are at the end."""

import os
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path

from hubserve_exporters.ahead import ahead
from hubserve_exporters.encoding import encode
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import padding
from hubserve_exporters.parts import Part
from hubserve_exporters.plan import PlannedTensor

_STRIDE = 2**25
Report = Callable[[int, int], None]
"""Takes how many bytes are written, and how many there will be."""


def write_parts(parts: Sequence[Part], folder: Path, report: Report) -> list[Path]:
    """The files, which are on the disk.

    Raises ExportError if a tensor cannot be written as it is to be, and OSError.
    """
    total = sum(part.size for part in parts)
    written = 0
    for part in parts:
        with open(folder / part.name, "wb", buffering=0) as file:
            written += _write_all(file, memoryview(part.header()))
            begun = 0
            # About half of the work is the system's, which writes.
            for data in ahead(_encoded(part.tensors)):
                written += _write_all(file, data)
                if file.tell() - begun >= _STRIDE:
                    begun = _send(file, begun)
                report(written, total)
            os.fsync(file.fileno())
    return [folder / part.name for part in parts]


def sync(path: Path) -> None:
    """What was written to a file, or which names a folder has, is on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def _send(file: FileIO, start: int) -> int:
    """Has the disk take now what was written from there on, instead of all at the end, when nothing
    else is left to do. Returns where that ends. The pages that are not on the disk yet stay."""
    end = file.tell()
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), start, end - start, os.POSIX_FADV_DONTNEED)
    return end


def _write_all(file: FileIO, data: memoryview) -> int:
    """The number of bytes, all of which are written, however few the system takes at once."""
    left = data
    while left:
        left = left[file.write(left) :]
    return len(data)
