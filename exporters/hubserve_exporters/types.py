"""Which tensor is kept in which type."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from hubserve_exporters.encoding import ENCODED
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.safetensors_file import StoredTensor

AUTO = "auto"
_BY_SOURCE = {"F32": TensorType.F32, "F64": TensorType.F32, "F16": TensorType.F16}
_FILE_TYPES: Mapping[TensorType, int] = {
    TensorType.F32: 0,
    TensorType.F16: 1,
    TensorType.Q4_0: 2,
    TensorType.Q4_1: 3,
    TensorType.Q8_0: 7,
    TensorType.Q5_0: 8,
    TensorType.Q5_1: 9,
    TensorType.BF16: 32,
    TensorType.MXFP4: 38,
}
"""`general.file_type`: `enum llama_ftype` of llama.h, llama.cpp 0.5.0-dev."""
_SMALL = (TensorType.Q4_0, TensorType.Q4_1, TensorType.Q5_0, TensorType.Q5_1, TensorType.MXFP4)


@dataclass(frozen=True, slots=True)
class Types:
    """The type that was asked for, for tensors of a checkpoint.

    `experts`: whether the model has any, as MXFP4 is for them alone.
    """

    main: TensorType
    experts: bool = False

    def of(self, name: str, shape: tuple[int, ...], *, float32: bool) -> TensorType:
        """The type of one tensor of the file. `shape` as numpy has it.

        Single rows and what does not end in `.weight` keep 32 bits: little is saved there, and
        llama.cpp adds most of them in 32 bits. The ends of the model are worth 8 bits where the
        rest has less. Rows that do not divide into blocks get 16 bits.
        """
        if float32 or len(shape) == 1 or not name.endswith(".weight"):
            return TensorType.F32
        wanted = self.main
        if wanted in _SMALL and name in ("token_embd.weight", "output.weight"):
            wanted = TensorType.Q8_0
        if wanted is TensorType.MXFP4 and self.experts and "_exps." not in name:
            wanted = TensorType.Q8_0
        return wanted if shape[-1] % wanted.block_elements == 0 else TensorType.F16


def source_type(tensors: Iterable[StoredTensor]) -> TensorType:
    """What "auto" is for these tensors of a checkpoint."""
    return main_type(AUTO, ((tensor.dtype, prod(tensor.shape)) for tensor in tensors))


def main_type(wanted: str, sources: Iterable[tuple[str, int]]) -> TensorType:
    """The type by its name in any case; "auto" is what most of the checkpoint's numbers have.

    `sources` are the type, as safetensors names it, and the number of elements of each tensor.
    Raises ExportError for a name that is not among those that are encoded here.
    """
    if wanted.lower() == AUTO:
        counts: Counter[str] = Counter()
        for dtype, elements in sources:
            counts[dtype] += elements
        most = counts.most_common(1)[0][0] if counts else "F32"
        return _BY_SOURCE.get(most, TensorType.BF16)
    for type_ in ENCODED:
        if type_.name == wanted.upper():
            return type_
    raise ExportError(
        f"The type {wanted!r} is not known; {AUTO}, "
        + ", ".join(type_.name.lower() for type_ in ENCODED)
        + " are, and schemes of llama.cpp such as q4_k_m, q5_k_m and q6_k."
    )


def file_type(types: Iterable[tuple[TensorType, int]]) -> int:
    """The number that says what most of the file is, by the elements of each tensor."""
    counts: Counter[TensorType] = Counter()
    for type_, elements in types:
        counts[type_] += elements
    known = [type_ for type_, _ in counts.most_common() if type_ in _FILE_TYPES]
    return _FILE_TYPES[known[0]]
