"""What computes: its inverse may lose the last bits."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.encoding import widened
from hubserve_exporters.operations.operation import Operation, Tensors
from hubserve_exporters.tensor import Array, Tensor


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


def _computed(
    tensor: Tensor, function: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> Tensor:
    def read(start: int, stop: int) -> Array:
        # What overflows is seen where numbers are encoded: they have to be finite there.
        with np.errstate(all="ignore"):
            return function(widened(tensor.read(start, stop)))

    return Tensor(tensor.shape, np.dtype(np.float32), read)
