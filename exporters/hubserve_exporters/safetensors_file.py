"""One safetensors file: what is where in it, checked before anything is read.

The format: an unsigned 64-bit length, so many bytes of JSON, then the tensors without gaps. Source:
the README of huggingface/safetensors, 0.8.0. Its own library gives bfloat16 to torch alone, and a
tensor only whole or by slices that it copies twice.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from struct import Struct
from typing import Any

import ml_dtypes
import numpy as np

from hubserve_exporters.errors import ExportError
from hubserve_exporters.tensor import Array, Tensor

MAX_HEADER_BYTES = 100_000_000
"""As in the library."""
_LENGTH = Struct("<Q")
_DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor is: its bytes begin at `start` in the file, and take `size`.

    `dtype` is the format's own word, such as "BF16"; `shape` is as numpy has it.
    """

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy type of one of the format's words."""
    return _DTYPES[name]


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The format's word for a numpy type."""
    return next(name for name, known in _DTYPES.items() if known == dtype)


def read_directory(path: Path) -> dict[str, StoredTensor]:
    """Every tensor of the file, by name. Raises ExportError for whatever is no such file."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(_LENGTH.size)
            length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else size
            if length > min(size - _LENGTH.size, MAX_HEADER_BYTES):
                raise _Fault("its header is longer than the file; it was not downloaded to the end")
            header = json.loads(file.read(length), object_pairs_hook=_no_twins)
        return _read_header(header, path, _LENGTH.size + length, size)
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror}.") from error
    except (_Fault, ValueError, RecursionError) as error:
        # What is no JSON, or no UTF-8, is a ValueError.
        raise ExportError(f"{path.name} is no sound safetensors file: {error}.") from None


def open_tensor(stored: StoredTensor) -> Tensor:
    """The tensor, which opens its file for each reading. Raises ExportError where that fails."""
    dtype = _DTYPES[stored.dtype]
    row = prod(stored.shape[1:])

    def read(start: int, stop: int) -> Array:
        array = np.empty((stop - start) * row, dtype)
        view = array.view(np.uint8).data
        try:
            with stored.path.open("rb", buffering=0) as file:
                file.seek(stored.start + start * row * dtype.itemsize)
                while view:
                    count = file.readinto(view)
                    if not count:
                        raise ExportError(f"{stored.path} became shorter while it was read.")
                    view = view[count:]
        except OSError as error:
            raise ExportError(f"{stored.path} cannot be read: {error.strerror}.") from error
        return array.reshape(stop - start, *stored.shape[1:])

    return Tensor(stored.shape, dtype, read)


def encode_directory(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> bytes:
    """The bytes before the tensors, each of which has a type and a shape; they follow in order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + prod(shape) * _DTYPES[dtype].itemsize
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    # The tensors begin at a multiple of eight bytes.
    text += b" " * (-len(text) % 8)
    return _LENGTH.pack(len(text)) + text


class _Fault(Exception):
    """What is wrong with the file, as the end of a sentence."""


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in found if names.count(name) > 1)
        raise _Fault(f"it has {twin!r} twice")
    return found


def _read_header(header: Any, path: Path, start: int, size: int) -> dict[str, StoredTensor]:
    if not isinstance(header, dict):
        raise _Fault("its header is not an object")
    tensors = {
        name: _read_entry(name, entry, path, start)
        for name, entry in header.items()
        if name != "__metadata__"
    }
    end = start
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].size)):
        if tensor.start != end:
            raise _Fault(f"the tensor {name!r} does not begin where the one before it ends")
        end += tensor.size
    if end != size:
        raise _Fault(f"its tensors end at byte {end}, the file at {size}")
    return tensors


def _read_entry(name: str, entry: Any, path: Path, start: int) -> StoredTensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise _Fault(f"the entry of {name!r} lacks a type, a shape or its place") from None
    if dtype not in _DTYPES:
        raise _Fault(f"the tensor {name!r} has the type {dtype!r}, which is not known")
    if not all(type(number) is int and 0 <= number < 2**63 for number in (*shape, begin, end)):
        raise _Fault(f"the entry of {name!r} has a number that is none, or negative")
    size = prod(shape) * _DTYPES[dtype].itemsize
    if end - begin != size:
        raise _Fault(f"the tensor {name!r} takes {end - begin} bytes; its shape needs {size}")
    return StoredTensor(path, dtype, shape, start + begin, size)
