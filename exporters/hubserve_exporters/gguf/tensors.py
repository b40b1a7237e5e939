"""The tensor directory: what is where in the part of the file that holds the weights."""

from dataclasses import dataclass
from math import prod
from struct import Struct

from .cursor import Cursor
from .errors import GGUFError
from .tensor_types import TENSOR_TYPES, TensorType

MAX_NAME_BYTES = 63
MAX_DIMENSIONS = 4
# What follows the number of dimensions: each of them, the type, the offset.
_LAYOUTS = [Struct(f"<{count}QIQ") for count in range(MAX_DIMENSIONS + 1)]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: `shape` in elements, the length of a row first (numpy has it last).

    `offset` counts from the start of the tensor data, `size` is in bytes.
    """

    name: str
    type: TensorType
    shape: tuple[int, ...]
    offset: int
    size: int


def read_tensors(cursor: Cursor, count: int, alignment: int) -> dict[str, TensorInfo]:
    """Reads `count` entries, and holds them to the one layout that llama.cpp loads.

    Each tensor begins where the one before it ends, rounded up to the alignment. Raises
    GGUFError, with the tensor, at the first fault.
    """
    tensors: dict[str, TensorInfo] = {}
    expected = 0
    for index in range(count):
        try:
            name = cursor.name("a tensor's name", MAX_NAME_BYTES, "UTF-8")
        except GGUFError as error:
            raise GGUFError(f"tensor {index + 1} of {count}: {error}") from None
        if name in tensors:
            raise GGUFError(f"the tensor {name!r} is there twice")
        try:
            info = _read_entry(cursor, name)
            if info.offset != expected:
                raise GGUFError(f"it begins at {info.offset}, not at {expected} as it has to")
        except GGUFError as error:
            raise GGUFError(f"the tensor {name!r}: {error}") from None
        tensors[name] = info
        expected = align(info.offset + info.size, alignment)
    return tensors


def align(offset: int, alignment: int) -> int:
    """The offset, rounded up to a multiple of the alignment."""
    return offset + -offset % alignment


def _read_entry(cursor: Cursor, name: str) -> TensorInfo:
    dimensions = cursor.u32()
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise GGUFError(f"it has {dimensions} dimensions, 1 to {MAX_DIMENSIONS} are possible")
    *lengths, number, offset = cursor.unpack(_LAYOUTS[dimensions])
    shape = tuple(lengths)
    if not 0 < prod(shape) < 2**63:
        raise GGUFError(f"the shape {shape} is empty, or too large for any machine")
    if number not in TENSOR_TYPES:
        raise GGUFError(f"the tensor type {number} is not known; a newer version may know it")
    type_ = TENSOR_TYPES[number]
    return TensorInfo(name, type_, shape, offset, type_.size(shape))
