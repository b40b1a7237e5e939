"""Numbers as a tensor type keeps them, and back."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.tensor import MXFP4, Array

ENCODED = (
    TensorType.F32,
    TensorType.F16,
    TensorType.BF16,
    TensorType.Q8_0,
    TensorType.Q4_0,
    TensorType.Q4_1,
    TensorType.Q5_0,
    TensorType.Q5_1,
    TensorType.MXFP4,
)
"""The types that `encode` knows. llama.cpp quantizes to the others, from a file of one of these."""
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LARGEST_HALF = np.float32(65504)
# Exponents of normal halves, as BF16 writes them: 30 from 113 on, where a half has 1 to 30.
_LOWEST_SHARED, _SHARED = np.uint16(113 << 7), np.uint16(30 << 7)
_BLOCK = 2**16
"""Elements that are worked on at once: what lies between steps stays in the processor's cache, and
is memory that the process has. Larger arrays are given back to the system and asked for again, of
which each page costs more than what is done with it."""
_PLAIN: dict[TensorType, np.dtype[Any]] = {
    TensorType.F32: np.dtype("<f4"),
    TensorType.F16: np.dtype("<f2"),
    TensorType.BF16: BFLOAT16,
}


def widened(values: Array) -> NDArray[np.float32]:
    """The same numbers in 32 bits; those of 64 bits are rounded."""
    if values.dtype == BFLOAT16:
        # The upper half of a 32-bit number. ml_dtypes converts one at a time.
        wide = values.view(np.uint16).astype(np.uint32)
        wide <<= 16
        return wide.view(np.float32)
    return values.astype(np.float32, copy=False)


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """The numbers in another type. Halves end at 65504, where others would become infinite."""
    if values.dtype == dtype:
        return values
    if dtype == np.float16 and values.dtype == BFLOAT16:
        return _halved(values)
    wide: Array = widened(values)
    if dtype == np.float16:
        halves = np.empty(wide.shape, np.float16)
        for block, out in zip(_blocks(wide), _blocks(halves), strict=True):
            out[:] = np.clip(block, -_LARGEST_HALF, _LARGEST_HALF)
        return halves
    return wide.astype(dtype, copy=False)


def stored_dtype(type_: TensorType) -> np.dtype[Any]:
    """What `decode` gives for a type."""
    return _PLAIN.get(type_, np.dtype(np.float32))


def encode(values: Array, type_: TensorType) -> memoryview:
    """The bytes of whole rows. Raises ExportError if a number is not finite."""
    if not _finite(values):
        raise ExportError("it holds a number that is infinite or none at all")
    if values.dtype == MXFP4:
        return _bytes(values)
    if type_ in _PLAIN:
        return _bytes(rounded(values, _PLAIN[type_]))
    from gguf import GGMLQuantizationType
    from gguf.quants import quantize

    return _bytes(quantize(widened(values), GGMLQuantizationType(type_.number)))


def decode(data: memoryview, type_: TensorType, shape: tuple[int, ...]) -> Array:
    """The numbers of a tensor, of this shape as numpy has it; not copied where they are plain."""
    if type_ in _PLAIN:
        return np.frombuffer(data, _PLAIN[type_]).reshape(shape)
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        values = dequantize(
            np.frombuffer(data, np.uint8).reshape(*shape[:-1], -1),
            GGMLQuantizationType(type_.number),
        )
    except (NotImplementedError, ValueError) as error:
        raise ExportError(f"tensors of the type {type_.name} cannot be read as numbers") from error
    return values.reshape(shape)


def _finite(values: Array) -> bool:
    if values.dtype == MXFP4:
        return bool(values["scale"].max() < 0xFF)
    return all(map(_finite_block, _blocks(values)))


def _finite_block(values: Array) -> bool:
    # Of 16-bit numbers the exponent says it, without a wider copy.
    if values.dtype == BFLOAT16:
        return bool((values.view(np.uint16) & 0x7FFF).max() < 0x7F80)
    if values.dtype == np.float16:
        return bool((values.view(np.uint16) & 0x7FFF).max() < 0x7C00)
    return bool(np.isfinite(values).all())


def _halved(values: Array) -> Array:
    """BF16 as F16. Nearly all weights are in the range that both have, where moving bits does it,
    several times as quickly as by way of 32 bits; for the others there is a table."""
    halves = np.empty(values.shape, np.float16)
    for block, result in zip(_blocks(values), _blocks(halves), strict=True):
        bits, out = block.view(np.uint16), result.view(np.uint16)
        np.bitwise_and(bits, 0x7FFF, out=out)
        out -= _LOWEST_SHARED
        others = np.flatnonzero(out >= _SHARED)
        out <<= 3
        out += 1 << 10
        out |= bits & 0x8000
        out[others] = _halves()[bits[others]]
    return halves


@cache
def _halves() -> Array:
    """The half for each BF16 number, by its bits; anything for those that are none."""
    wide = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    return np.clip(wide, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16).view(np.uint16)


def _blocks(values: Array) -> Iterator[Array]:
    """All elements, in order. What is written to a block is in the array, if that is contiguous."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        yield flat[start : start + _BLOCK]


def _bytes(values: Array) -> memoryview:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
