"""A tensor whose numbers are read when they are asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

CHUNK = 2**20
"""Elements that are in memory at once where a tensor passes through: 4 MB as 32-bit numbers."""

MXFP4 = np.dtype([("scale", "u1"), ("codes", "u1", (16,))])
"""32 numbers in 17 bytes, as llama.cpp has them, as one element of an array: where a checkpoint is
quantized so, its numbers stay as they are."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """`shape` as numpy has it (the length of a row last), with at least one dimension.

    `read(start, stop)` gives that part of the first dimension, in `dtype`. What it gives may not
    be written to.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[int, int], Array]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    def array(self) -> Array:
        """All of it."""
        return self.read(0, self.shape[0])

    def chunks(self, limit: int = CHUNK) -> Iterator[Array]:
        """All of it in order, at most `limit` elements at a time, but at least one row."""
        step = max(1, limit * self.shape[0] // max(1, self.elements))
        for start in range(0, self.shape[0], step):
            yield self.read(start, min(start + step, self.shape[0]))


def tensor_of(array: Array) -> Tensor:
    """An array that is in memory, as a tensor."""
    return Tensor(array.shape, array.dtype, lambda start, stop: array[start:stop])
