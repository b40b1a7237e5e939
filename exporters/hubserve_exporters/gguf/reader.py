"""A reader of GGUF files that trusts nothing in them.

Whatever the bytes are, `open_gguf` returns or raises GGUFError within two seconds and 256 MB: the
limits below, and those of the modules beside this one, are set for that. The format, with the
rules that llama.cpp's own loader holds files to: ggml's docs/gguf.md and gguf.cpp (ggml 0.25.3).
"""

import mmap
import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from .cursor import Cursor
from .errors import GGUFError
from .metadata import ALIGNMENT, Metadata, read_metadata
from .tensors import TensorInfo, align, read_tensors

MAX_HEADER_BYTES = 2**26
"""The most bytes before the tensor data. The largest vocabularies take about a third of it."""
MAX_KEYS = 2**16
MAX_TENSORS = 2**16
"""Real files have at most a few thousand, as llama.cpp keeps the experts of a layer in one."""

_HEADER_BYTES = 24
_MIN_KEY_BYTES = 14
_MIN_TENSOR_BYTES = 33
_DEFAULT_ALIGNMENT = 32
_MIN_ALIGNMENT, _MAX_ALIGNMENT = 8, 2**20
_KNOWN_STRANGERS = (
    (b"version https://git-lfs", "a Git LFS pointer; fetch the file itself with git lfs pull"),
    (b"<", "a web page, saved in place of the file; download it again"),
    (b"PK", "a zip archive or a PyTorch checkpoint"),
    (
        (b"lmgg", b"fmgg", b"tjgg"),
        "a model in a format older than GGUF; look for a GGUF version of it",
    ),
)


class GGUFFile:
    """An open GGUF file: its metadata and tensor directory are read, its tensors are not.

    It is a context manager. What was taken from it (arrays, tensors) stays valid after it is
    closed, and keeps the file mapped. The file must not shrink meanwhile: the process would be
    killed by SIGBUS.
    """

    def __init__(self, view: memoryview) -> None:
        """Use open_gguf. Raises GGUFError."""
        cursor, self.version, tensor_count, key_count = _read_header(view)
        self.file_size = len(view)
        self.metadata: Metadata = read_metadata(cursor, key_count)
        self.alignment = _read_alignment(self.metadata)
        tensors = read_tensors(cursor, tensor_count, self.alignment)
        self.tensors: Mapping[str, TensorInfo] = MappingProxyType(tensors)
        self.data_offset = align(cursor.position, self.alignment)
        self._view: memoryview | None = view
        for info in tensors.values():
            end = self.data_offset + info.offset + info.size
            if end > self.file_size:
                raise GGUFError(
                    f"the tensor {info.name!r} ends at byte {end}, the file at byte "
                    f"{self.file_size}: it is damaged, or was not downloaded to the end"
                )

    def tensor(self, name: str) -> memoryview:
        """The encoded bytes of a tensor, not copied. Raises KeyError if there is none."""
        if self._view is None:
            raise ValueError("the GGUF file is closed")
        info = self.tensors[name]
        start = self.data_offset + info.offset
        return self._view[start : start + info.size]

    def close(self) -> None:
        """Lets go of the file. It may be called again."""
        self._view = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_gguf(path: str | os.PathLike[str]) -> GGUFFile:
    """Opens a GGUF file of version 2 or 3, little-endian.

    Raises GGUFError, with the path, for whatever is not one, folders and pipes included; and
    OSError as `open` does, if the path is not there or may not be read.
    """
    try:
        return GGUFFile(_map(path))
    except GGUFError as error:
        raise GGUFError(f"{os.fspath(path)}: {error}") from None


def _map(path: str | os.PathLike[str]) -> memoryview:
    # Without O_NONBLOCK the opening of a pipe waits for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise GGUFError("this is a folder, not a GGUF file")
        if not stat.S_ISREG(status.st_mode):
            raise GGUFError("this is a device or a pipe, not a GGUF file")
        if status.st_size < _HEADER_BYTES:
            raise GGUFError(
                f"the file has {status.st_size} bytes, a GGUF file at least {_HEADER_BYTES}"
            )
        try:
            return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        except (OSError, OverflowError, ValueError) as error:
            raise GGUFError(f"the file cannot be mapped into memory: {error}") from None
    finally:
        os.close(descriptor)


def _read_header(view: memoryview) -> tuple[Cursor, int, int, int]:
    cursor = Cursor(view, 0, MAX_HEADER_BYTES)
    magic = bytes(cursor.take(4))
    if magic != b"GGUF":
        raise GGUFError(_describe_stranger(view))
    version = cursor.u32()
    if version and version % 2**16 == 0:
        raise GGUFError("the file is big-endian; only little-endian files are read")
    if version not in (2, 3):
        raise GGUFError(f"the file is of GGUF version {version}; versions 2 and 3 are read")
    tensor_count, key_count = cursor.u64(), cursor.u64()
    if key_count > MAX_KEYS:
        raise GGUFError(f"the file claims {key_count} keys, {MAX_KEYS} are possible")
    if tensor_count > MAX_TENSORS:
        raise GGUFError(f"the file claims {tensor_count} tensors, {MAX_TENSORS} are possible")
    cursor.require(key_count * _MIN_KEY_BYTES + tensor_count * _MIN_TENSOR_BYTES)
    return cursor, version, tensor_count, key_count


def _describe_stranger(view: memoryview) -> str:
    start = bytes(view[:32]).lstrip()
    for sign, meaning in _KNOWN_STRANGERS:
        if start.startswith(sign):
            return f"this is not a GGUF file but {meaning}"
    return f"this is not a GGUF file; it begins with {bytes(view[:4])!r}, not with b'GGUF'"


def _read_alignment(metadata: Metadata) -> int:
    alignment = metadata.uint(ALIGNMENT)
    if alignment is None:
        return _DEFAULT_ALIGNMENT
    if not _MIN_ALIGNMENT <= alignment <= _MAX_ALIGNMENT or alignment.bit_count() != 1:
        raise GGUFError(
            f"the key {ALIGNMENT!r} is {alignment}; it has to be a power of two from "
            f"{_MIN_ALIGNMENT} to {_MAX_ALIGNMENT}"
        )
    return alignment
