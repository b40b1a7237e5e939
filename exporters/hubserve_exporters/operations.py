"""What happens to tensors between a checkpoint and a GGUF file, forwards and back.

An operation makes tensors of tensors, lazily: what it gives reads its sources when it is read,
only the rows that are asked for. Most move numbers and are exact. Those that compute, in 32 bits,
say so by `exact = False`, and what their inverse loses is kept in the ledger.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.encoding import widened
from hubserve_exporters.errors import ExportError
from hubserve_exporters.tensor import MXFP4, Array, Tensor

Tensors = Sequence[Tensor]
Index = NDArray[np.int64]


class Operation(ABC):
    """`inverse` of what `forward` gave gives what it was given. Both raise ExportError for shapes
    that they do not fit."""

    exact: ClassVar[bool] = True

    @abstractmethod
    def forward(self, tensors: Tensors) -> list[Tensor]: ...

    @abstractmethod
    def inverse(self, tensors: Tensors) -> list[Tensor]: ...


def apply(operations: Sequence[Operation], tensors: Tensors) -> list[Tensor]:
    """All of them forwards, the first one first."""
    for operation in operations:
        tensors = operation.forward(tensors)
    return list(tensors)


def undo(operations: Sequence[Operation], tensors: Tensors) -> list[Tensor]:
    """All of them backwards, the last one first."""
    for operation in reversed(operations):
        tensors = operation.inverse(tensors)
    return list(tensors)


class _Rows(Operation):
    """Rows (or single numbers) in another order."""

    @abstractmethod
    def order(self, rows: int) -> Index:
        """Which row comes at each place, forwards."""

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [_take_rows(tensor, self.order(tensor.shape[0])) for tensor in tensors]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        return [_take_rows(tensor, _inverted(self.order(tensor.shape[0]))) for tensor in tensors]


@dataclass(frozen=True, slots=True)
class Permute(_Rows):
    """Rotary pairs: the two halves of every head become neighbours.

    transformers rotates row i of a head with row i + size/2, llama.cpp's `llama` architectures
    rotate rows 2i and 2i + 1.
    """

    heads: int

    def order(self, rows: int) -> Index:
        _divides(rows, 2 * self.heads, "halves of heads")
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
            return _take_rows(tensor, order)
        return _each(tensor, lambda rows: rows[..., order])


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
        _divides(whole.shape[self.axis], self.parts, "parts")
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
            return _take_rows(whole, chosen)
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


@dataclass(frozen=True, slots=True)
class PackMxfp4(Operation):
    """Codes and scales of MXFP4 become blocks of one scale and the codes of 32 numbers.

    As gpt-oss has them: 16 bytes, each with one number in its low and the next one in its high
    half. In llama.cpp byte i has number i, and number i + 16 (block_mxfp4 of ggml-common.h).
    """

    def forward(self, tensors: Tensors) -> list[Tensor]:
        codes, scales = tensors
        if codes.shape != (*scales.shape, 16) or {codes.dtype, scales.dtype} != {np.dtype("u1")}:
            raise ExportError(
                f"it has the shape {codes.shape} of {codes.dtype}, with scales {scales.shape} of"
                f" {scales.dtype}; 16 bytes for each scale are needed"
            )

        def read(start: int, stop: int) -> Array:
            bytes_ = codes.read(start, stop)
            numbers = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(*bytes_.shape[:-1], 32)
            blocks = np.empty(bytes_.shape[:-1], MXFP4)
            blocks["scale"] = scales.read(start, stop)
            blocks["codes"] = numbers[..., :16] | numbers[..., 16:] << 4
            return blocks

        return [Tensor(scales.shape, MXFP4, read)]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        (blocks,) = tensors

        def read_codes(start: int, stop: int) -> Array:
            bytes_ = blocks.read(start, stop)["codes"]
            numbers = np.concatenate([bytes_ & 15, bytes_ >> 4], -1)
            codes: Array = numbers[..., ::2] | numbers[..., 1::2] << 4
            return codes

        def read_scales(start: int, stop: int) -> Array:
            scales: Array = blocks.read(start, stop)["scale"]
            return scales

        byte = np.dtype("u1")
        return [
            Tensor((*blocks.shape, 16), byte, read_codes),
            Tensor(blocks.shape, byte, read_scales),
        ]


class _Arithmetic(Operation):
    """A function of every number, in 32 bits."""

    exact: ClassVar[bool] = False

    @abstractmethod
    def there(self, values: NDArray[np.float32]) -> NDArray[np.float32]: ...

    @abstractmethod
    def back(self, values: NDArray[np.float32]) -> NDArray[np.float32]: ...

    def forward(self, tensors: Tensors) -> list[Tensor]:
        return [_computed(tensor, self.there) for tensor in tensors]

    def inverse(self, tensors: Tensors) -> list[Tensor]:
        return [_computed(tensor, self.back) for tensor in tensors]


@dataclass(frozen=True, slots=True)
class PlusOne(_Arithmetic):
    """Norms whose weight is an offset from one."""

    def there(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values + np.float32(1)

    def back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values - np.float32(1)


@dataclass(frozen=True, slots=True)
class NegExp(_Arithmetic):
    """-exp(x), as state space models keep their decay."""

    def there(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return -np.exp(values)

    def back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.log(-values)


def _take_rows(tensor: Tensor, order: Index) -> Tensor:
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


def _computed(
    tensor: Tensor, function: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> Tensor:
    def read(start: int, stop: int) -> Array:
        # What overflows is seen where numbers are encoded: they have to be finite there.
        with np.errstate(all="ignore"):
            return function(widened(tensor.read(start, stop)))

    return Tensor(tensor.shape, np.dtype(np.float32), read)


def _divides(length: int, parts: int, what: str) -> None:
    if not parts or length % parts:
        raise ExportError(f"its {length} rows do not divide into {parts} {what}")
