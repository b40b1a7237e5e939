"""What an operation between a checkpoint and a GGUF file is.

It makes tensors of tensors, lazily: what it gives reads its sources when it is read, only the rows
that are asked for. Most move numbers and are exact. Those that compute, in 32 bits, say so by
`exact = False`, and what their inverse loses is kept in the ledger.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from hubserve_exporters.errors import ExportError
from hubserve_exporters.tensor import Tensor

Tensors = Sequence[Tensor]


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


def check_division(length: int, parts: int, what: str) -> None:
    """Raises ExportError if so many rows are not equal parts."""
    if not parts or length % parts:
        raise ExportError(f"its {length} rows do not divide into {parts} {what}")
