"""What arithmetic would lose, written down: so that undoing an export gives every bit back.

Where an operation computes, its inverse is tried while the file is planned. The few numbers that
do not come back as they were are kept, by their places, below `hubserve.ledger.TENSOR`: `.index`
and `.bits`, or all of them as `.bits` alone where that takes less.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.encoding import rounded
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.mapping import Group
from hubserve_exporters.operations import apply, undo
from hubserve_exporters.source import PREFIX
from hubserve_exporters.tensor import Array, Tensor, tensor_of

_MAX_ELEMENTS = 2**20


def ledger_of(group: Group, sources: Mapping[str, Tensor]) -> dict[str, Value]:
    """The keys for a group of tensors whose operations compute, all in 32 bits.

    Raises ExportError if they are larger than such tensors ever are.
    """
    tensors = [sources[name] for name in group.sources]
    if sum(tensor.elements for tensor in tensors) > _MAX_ELEMENTS:
        raise ExportError(f"it has more than {_MAX_ELEMENTS} elements, no norm or decay has")
    stored = [
        tensor_of(tensor.array().astype(np.float32)) for tensor in apply(group.operations, tensors)
    ]
    keys: dict[str, Value] = {}
    for name, tensor, back in zip(
        group.sources, tensors, undo(group.operations, stored), strict=True
    ):
        truth = _bits(tensor.array())
        missed = np.flatnonzero(truth != _bits(rounded(back.array(), tensor.dtype)))
        if not missed.size:
            continue
        key = f"{PREFIX}ledger.{name}"
        if missed.size * (4 + truth.itemsize) < truth.nbytes:
            keys[f"{key}.index"] = missed.astype(np.uint32)
            truth = truth[missed]
        keys[f"{key}.bits"] = truth
    return keys


def corrected(name: str, values: Array, metadata: Metadata) -> Array:
    """The numbers of a tensor, in the type of the source, with what the ledger has for it."""
    key = f"{PREFIX}ledger.{name}"
    bits = metadata.get(f"{key}.bits")
    if bits is None:
        return values
    index = metadata.get(f"{key}.index")
    if not isinstance(bits, memoryview) or bits.itemsize != values.itemsize:
        raise ExportError(f"The ledger of {name!r} is damaged.")
    mended = _bits(values).copy()
    truth = np.frombuffer(bits, mended.dtype)
    if index is None and len(truth) == len(mended):
        mended = truth
    elif isinstance(index, memoryview) and index.format == "I" and len(index) == len(truth):
        places = np.frombuffer(index, np.uint32)
        if places.size and int(places.max()) >= len(mended):
            raise ExportError(f"The ledger of {name!r} is damaged.")
        mended[places] = truth
    else:
        raise ExportError(f"The ledger of {name!r} is damaged.")
    return mended.view(values.dtype).reshape(values.shape)


def _bits(values: Array) -> NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(values).reshape(-1).view(f"u{values.itemsize}")
