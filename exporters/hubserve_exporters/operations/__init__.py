"""What happens to tensors between a checkpoint and a GGUF file, forwards and back."""

from hubserve_exporters.operations.arithmetic import NegExp, PlusOne
from hubserve_exporters.operations.mxfp4 import PackMxfp4
from hubserve_exporters.operations.operation import Operation, apply, undo
from hubserve_exporters.operations.rows import Permute, Reorder
from hubserve_exporters.operations.shapes import Split, Squeeze, Stack, Transpose

__all__ = [
    "NegExp",
    "Operation",
    "PackMxfp4",
    "Permute",
    "PlusOne",
    "Reorder",
    "Split",
    "Squeeze",
    "Stack",
    "Transpose",
    "apply",
    "undo",
]
