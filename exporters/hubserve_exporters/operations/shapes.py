"""Tensors put together, taken apart, and with other dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubserve_exporters.errors import ExportError
from hubserve_exporters.operations.operation import Operation, Tensors, check_division
from hubserve_exporters.operations.rows import take_rows
from hubserve_exporters.tensor import Array, Tensor


@dataclass(frozen=True, slots=True)
class Stack(Operation):
    """Many tensors of one shape as one, with their number as a new first dimension."""

    def forward(self, tensors: Tensors) -> list[Tensor]:
        first = tensors[0]
        for tensor in tensors:
            if (tensor.shape, tensor.dtype) != (first.shape, first.dtype):
                raise ExportError(f"not all have the shape {first.shape}: one has {tensor.shape}")

        def read(start: int, stop: int) -> Array:
            return np.stack([tensor.array() for tensor in tensors[start:stop]])

        return [Tensor((len(tensors), *first.shape), first.dtype, read)]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        (whole,) = tensors
        return [self._member(whole, number) for number in range(whole.shape[0])]

    def _member(self, whole: Tensor, number: int) -> Tensor:
        def read(start: int, stop: int) -> Array:
            array: Array = whole.read(number, number + 1)[0, start:stop]
            return array

        return Tensor(whole.shape[1:], whole.dtype, read)


@dataclass(frozen=True, slots=True)
class Split(Operation):
    """One tensor into equal parts along an axis, one behind the other, or `interleaved`."""

    parts: int
    axis: int = 0
    interleaved: bool = False

    def forward(self, tensors: Tensors) -> list[Tensor]:
        (whole,) = tensors
        check_division(whole.shape[self.axis], self.parts, "parts")
        return [self._part(whole, part) for part in range(self.parts)]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        if len({tensor.shape for tensor in tensors}) != 1:
            raise ExportError(f"its parts differ: {[tensor.shape for tensor in tensors]}")
        first = tensors[0]
        shape = list(first.shape)
        shape[self.axis] *= self.parts
        if self.axis % len(shape):

            def read(start: int, stop: int) -> Array:
                return self._join([tensor.read(start, stop) for tensor in tensors])

            return [Tensor(tuple(shape), first.dtype, read)]

        def read_rows(start: int, stop: int) -> Array:
            return self._join([tensor.array() for tensor in tensors])[start:stop]

        return [Tensor(tuple(shape), first.dtype, read_rows)]

    def _join(self, arrays: Sequence[Array]) -> Array:
        if not self.interleaved:
            return np.concatenate(arrays, self.axis)
        axis = self.axis % arrays[0].ndim
        stacked = np.stack(arrays, axis + 1)
        shape = list(arrays[0].shape)
        shape[axis] *= self.parts
        return stacked.reshape(shape)

    def _part(self, whole: Tensor, part: int) -> Tensor:
        axis = self.axis % len(whole.shape)
        length = whole.shape[axis] // self.parts
        order = np.arange(whole.shape[axis])
        chosen = order[part :: self.parts] if self.interleaved else order[part * length :][:length]
        if axis == 0:
            return take_rows(whole, chosen)
        shape = (*whole.shape[:axis], length, *whole.shape[axis + 1 :])
        return Tensor(
            shape,
            whole.dtype,
            lambda start, stop: np.take(whole.read(start, stop), chosen, axis),
        )


@dataclass(frozen=True, slots=True)
class Squeeze(Operation):
    """A dimension of length 1 less."""

    axis: int

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [self._squeeze(tensor) for tensor in tensors]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        return [self._unsqueeze(tensor) for tensor in tensors]

    def _squeeze(self, tensor: Tensor) -> Tensor:
        if len(tensor.shape) < 2 or tensor.shape[self.axis] != 1:
            raise ExportError(f"it has the shape {tensor.shape}; dimension {self.axis} has to be 1")
        shape = list(tensor.shape)
        del shape[self.axis]
        if self.axis:
            return Tensor(
                tuple(shape),
                tensor.dtype,
                lambda start, stop: tensor.read(start, stop).squeeze(self.axis),
            )
        return Tensor(tuple(shape), tensor.dtype, lambda start, stop: tensor.array()[0, start:stop])

    def _unsqueeze(self, tensor: Tensor) -> Tensor:
        shape = list(tensor.shape)
        shape.insert(self.axis, 1)
        if self.axis:
            return Tensor(
                tuple(shape),
                tensor.dtype,
                lambda start, stop: np.expand_dims(tensor.read(start, stop), self.axis),
            )
        return Tensor(
            tuple(shape), tensor.dtype, lambda start, stop: tensor.array()[np.newaxis][start:stop]
        )


@dataclass(frozen=True, slots=True)
class Transpose(Operation):
    """The last two of three dimensions exchanged."""

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [self._transpose(tensor) for tensor in tensors]

    inverse = forward

    def _transpose(self, tensor: Tensor) -> Tensor:
        if len(tensor.shape) != 3:
            raise ExportError(f"it has the shape {tensor.shape}; three dimensions are needed")
        first, second, third = tensor.shape
        return Tensor(
            (first, third, second),
            tensor.dtype,
            lambda start, stop: np.ascontiguousarray(tensor.read(start, stop).swapaxes(1, 2)),
        )
