"""The beginning of a GGUF file: header, metadata, and the directory of tensors.

gguf's GGUFWriter is not used: it packs arrays an element at a time, takes a tensor only whole,
leaves out what is empty, and opens the files by itself. What is written here is read again in the
tests by gguf's own reader, and by ours before a file gets its name.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import pack
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tensor_types import TensorType
from .tensors import align

Value: TypeAlias = (
    str
    | bool
    | int
    | float
    | Sequence[str]
    | Sequence[bool]
    | Sequence[int]
    | Sequence[float]
    | np.generic
    | NDArray[Any]
)
"""An int takes 32 bits, or 64 if it has to; a list of them is of signed ones of 32 bits. A float
takes 32 bits. An array or a number of numpy has the type that it has."""
Entry: TypeAlias = tuple[str, TensorType, tuple[int, ...]]
"""A tensor's name, its type, and its shape with the length of a row first."""

ALIGNMENT = 32
_VERSION = 3
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY, _UINT64, _INT64 = 4, 5, 6, 7, 8, 9, 10, 11
_NUMBERS: Mapping[str, int] = {
    "|u1": 0,
    "|i1": 1,
    "<u2": 2,
    "<i2": 3,
    "<u4": _UINT32,
    "<i4": _INT32,
    "<f4": _FLOAT32,
    "|b1": _BOOL,
    "<u8": _UINT64,
    "<i8": _INT64,
    "<f8": 12,
}


def encode_header(metadata: Mapping[str, Value], tensors: Iterable[Entry]) -> bytes:
    """All bytes before the first tensor. Tensors follow in this order, each padded to ALIGNMENT."""
    tensors = list(tensors)
    parts = [pack("<4sIQQ", b"GGUF", _VERSION, len(tensors), len(metadata))]
    for key, value in metadata.items():
        parts += (_string(key), *_value(value))
    offset = 0
    for name, type_, shape in tensors:
        fields = pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_.number, offset)
        parts += (_string(name), fields)
        offset = align(offset + type_.size(shape), ALIGNMENT)
    header = b"".join(parts)
    return header + padding(len(header))


def padding(size: int) -> bytes:
    """The zeros that follow so many bytes."""
    return bytes(align(size, ALIGNMENT) - size)


def _string(text: str) -> bytes:
    # Tokens may be parts of characters; see values.StringArray.
    encoded = text.encode("utf-8", "surrogateescape")
    return pack("<Q", len(encoded)) + encoded


def _value(value: Value) -> Iterable[bytes]:
    if isinstance(value, np.generic):
        return pack("<I", _NUMBERS[value.dtype.newbyteorder("<").str]), value.tobytes()
    if isinstance(value, str):
        return pack("<I", _STRING), _string(value)
    if isinstance(value, bool):
        return (pack("<IB", _BOOL, value),)
    if isinstance(value, int):
        return (_integer(value),)
    if isinstance(value, float):
        return (pack("<If", _FLOAT32, value),)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Sequence) and value and all(isinstance(item, str) for item in value):
        texts = [_string(str(item)) for item in value]
        return pack("<IIQ", _ARRAY, _STRING, len(texts)), *texts
    return _array(_as_array(value))


def _integer(value: int) -> bytes:
    if value >= 0:
        return pack("<II", _UINT32, value) if value < 2**32 else pack("<IQ", _UINT64, value)
    return pack("<Ii", _INT32, value) if value >= -(2**31) else pack("<Iq", _INT64, value)


def _as_array(values: Sequence[Any]) -> NDArray[Any]:
    if all(isinstance(value, bool) for value in values):
        return np.array(values, np.bool_)
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int32)
    return np.array(values, np.float32)


def _array(array: NDArray[Any]) -> Iterable[bytes]:
    array = np.ascontiguousarray(array)
    number = _NUMBERS[array.dtype.newbyteorder("<").str]
    return pack("<IIQ", _ARRAY, number, array.size), array.tobytes()
