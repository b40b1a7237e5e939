"""Rows in another order."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.errors import ExportError
from hubserve_exporters.operations.operation import Operation, Tensors, check_division
from hubserve_exporters.tensor import Array, Tensor

Index = NDArray[np.int64]


class _Rows(Operation):
    """Rows (or single numbers) in another order."""

    @abstractmethod
    def order(self, rows: int) -> Index:
        """Which row comes at each place, forwards."""

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [take_rows(tensor, self.order(tensor.shape[0])) for tensor in tensors]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        return [take_rows(tensor, _inverted(self.order(tensor.shape[0]))) for tensor in tensors]


@dataclass(frozen=True, slots=True)
class Permute(_Rows):
    """Rotary pairs: the two halves of every head become neighbours.

    transformers rotates row i of a head with row i + size/2, llama.cpp's `llama` architectures
    rotate rows 2i and 2i + 1.
    """

    heads: int

    def order(self, rows: int) -> Index:
        check_division(rows, 2 * self.heads, "halves of heads")
        return np.arange(rows).reshape(self.heads, 2, -1).swapaxes(1, 2).reshape(-1)


@dataclass(frozen=True, slots=True)
class Reorder(Operation):
    """Groups become tiles: (groups, repeats, size) of an axis becomes (repeats, groups, size).

    `start` rows before them stay. llama.cpp repeats key heads by tiling, transformers by groups.
    `axis` is 0 or -1.
    """

    groups: int
    repeats: int
    size: int
    start: int = 0
    axis: int = 0

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [self._move(tensor, self.groups, self.repeats) for tensor in tensors]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        return [self._move(tensor, self.repeats, self.groups) for tensor in tensors]

    def _order(self, outer: int, inner: int) -> Index:
        moved = np.arange(outer * inner * self.size).reshape(outer, inner, self.size)
        kept = np.arange(self.start)
        return np.concatenate([kept, self.start + moved.swapaxes(0, 1).reshape(-1)])

    def _move(self, tensor: Tensor, outer: int, inner: int) -> Tensor:
        length = self.start + outer * inner * self.size
        if tensor.shape[self.axis] != length:
            raise ExportError(f"it has the shape {tensor.shape}, not {length} to reorder")
        order = self._order(outer, inner)
        if self.axis == 0:
            return take_rows(tensor, order)
        return _each(tensor, lambda rows: rows[..., order])


def take_rows(tensor: Tensor, order: Index) -> Tensor:
    """The rows of these numbers, in this order."""

    def read(start: int, stop: int) -> Array:
        wanted = order[start:stop]
        low, high = int(wanted.min()), int(wanted.max()) + 1
        if high - low <= 2 * len(wanted):
            return tensor.read(low, high)[wanted - low]
        # Far apart: run by run, so that little is read that nobody wants.
        breaks = np.flatnonzero(np.diff(wanted) != 1) + 1
        runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(wanted, breaks)]
        return np.concatenate([tensor.read(*run) for run in runs])

    return Tensor((len(order), *tensor.shape[1:]), tensor.dtype, read)


def _inverted(order: Index) -> Index:
    return np.argsort(order, kind="stable")


def _each(tensor: Tensor, function: Callable[[Array], Array]) -> Tensor:
    return Tensor(
        tensor.shape, tensor.dtype, lambda start, stop: function(tensor.read(start, stop))
    )
