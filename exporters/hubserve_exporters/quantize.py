"""K- and I-quants, which llama.cpp alone can write: from a file in BF16 or F32 to a smaller one.

Types that the gguf package can encode are written by the export itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from gguf import LlamaFileType

from hubserve_exporters.encoding import ENCODED
from hubserve_exporters.errors import ExportError
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.gguf.patch import set_uint32
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import TensorInfo
from hubserve_exporters.isolated.call import Report, call
from hubserve_exporters.types import AUTO


@dataclass(frozen=True, slots=True)
class Scheme:
    """A mix of types that llama.cpp chooses tensor by tensor.

    `base` is the type of most matrices. Without an importance matrix those that need one are noise.
    """

    file_type: LlamaFileType
    base: TensorType
    needs_importance: bool = False


SCHEMES = {
    "iq1_s": Scheme(LlamaFileType.MOSTLY_IQ1_S, TensorType.IQ1_S, True),
    "iq1_m": Scheme(LlamaFileType.MOSTLY_IQ1_M, TensorType.IQ1_M, True),
    "iq2_xxs": Scheme(LlamaFileType.MOSTLY_IQ2_XXS, TensorType.IQ2_XXS, True),
    "iq2_xs": Scheme(LlamaFileType.MOSTLY_IQ2_XS, TensorType.IQ2_XS, True),
    "iq2_s": Scheme(LlamaFileType.MOSTLY_IQ2_S, TensorType.IQ2_XS, True),
    "iq2_m": Scheme(LlamaFileType.MOSTLY_IQ2_M, TensorType.IQ2_S, True),
    "q2_k": Scheme(LlamaFileType.MOSTLY_Q2_K, TensorType.Q2_K),
    "q2_k_s": Scheme(LlamaFileType.MOSTLY_Q2_K_S, TensorType.Q2_K, True),
    "iq3_xxs": Scheme(LlamaFileType.MOSTLY_IQ3_XXS, TensorType.IQ3_XXS, True),
    "iq3_xs": Scheme(LlamaFileType.MOSTLY_IQ3_XS, TensorType.IQ3_S, True),
    "iq3_s": Scheme(LlamaFileType.MOSTLY_IQ3_S, TensorType.IQ3_S),
    "iq3_m": Scheme(LlamaFileType.MOSTLY_IQ3_M, TensorType.IQ3_S),
    "q3_k_s": Scheme(LlamaFileType.MOSTLY_Q3_K_S, TensorType.Q3_K),
    "q3_k_m": Scheme(LlamaFileType.MOSTLY_Q3_K_M, TensorType.Q3_K),
    "q3_k_l": Scheme(LlamaFileType.MOSTLY_Q3_K_L, TensorType.Q3_K),
    "iq4_xs": Scheme(LlamaFileType.MOSTLY_IQ4_XS, TensorType.IQ4_XS),
    "iq4_nl": Scheme(LlamaFileType.MOSTLY_IQ4_NL, TensorType.IQ4_NL),
    "q4_k_s": Scheme(LlamaFileType.MOSTLY_Q4_K_S, TensorType.Q4_K),
    "q4_k_m": Scheme(LlamaFileType.MOSTLY_Q4_K_M, TensorType.Q4_K),
    "q5_k_s": Scheme(LlamaFileType.MOSTLY_Q5_K_S, TensorType.Q5_K),
    "q5_k_m": Scheme(LlamaFileType.MOSTLY_Q5_K_M, TensorType.Q5_K),
    "q6_k": Scheme(LlamaFileType.MOSTLY_Q6_K, TensorType.Q6_K),
}
"""By the name on the command line. Source: `llama_ftype_get_default_type` and
`tensor_requires_imatrix` of llama.cpp's llama-quant.cpp, as llama-cpp-python 0.3.36 has it."""


TYPE_NAMES = (AUTO, *(type_.name.lower() for type_ in ENCODED), *SCHEMES)
"""All that `GGUFExportConfig.dtype` may be."""


def quantize(
    sources: Sequence[Path],
    targets: Sequence[Path],
    scheme: str,
    *,
    importance: Path | None = None,
    needed: int | None = None,
    report: Report = lambda share: None,
) -> None:
    """Writes the targets from the sources, in a process of its own.

    Both are one file, or as many parts, named as parts are. The targets' file type is that of what
    is really in them. `needed` are the bytes that both take, for messages. Raises ExportError, and
    leaves no file, where llama.cpp cannot.
    """
    chosen = SCHEMES[scheme]
    check_scheme(scheme, importance)
    arguments: dict[str, object] = {
        "source": str(sources[0]),
        "target": str(targets[0]),
        "file_type": int(chosen.file_type),
        "importance": None if importance is None else str(importance),
        "parts": len(sources),
        "needed": needed,
    }
    try:
        call("quantizing", arguments, doing=f"quantizing to {scheme}", report=report)
        tensors: list[TensorInfo] = []
        for target in targets:
            with open_gguf(target) as file:
                tensors += file.tensors.values()
        set_uint32(targets[0], "general.file_type", file_type(chosen, tensors))
    except BaseException:
        for target in targets:
            target.unlink(missing_ok=True)
        raise


def scheme_of(dtype: str, importance: Path | None) -> str | None:
    """The scheme that is asked for, if it is one.

    Raises ExportError where it needs an importance matrix, or what is asked for has no use for it.
    """
    scheme = dtype.lower()
    if scheme in SCHEMES:
        check_scheme(scheme, importance)
        return scheme
    if importance is not None:
        raise ExportError(
            f"An importance matrix is of no use for {dtype}; choose a type such as q4_k_m."
        )
    return None


def unquantized(config: GGUFExportConfig) -> GGUFExportConfig:
    """What is to be written for llama.cpp to quantize; the same where it is not to."""
    if config.dtype.lower() not in SCHEMES:
        return config
    # No scheme has tensors of more than 8.5 bits that have 16 or 32 in the checkpoint.
    limit = config.split_max_size and int(1.8 * config.split_max_size)
    return replace(config, dtype=AUTO, split_max_size=limit)


def check_scheme(scheme: str, importance: Path | None) -> None:
    """Raises ExportError where the scheme needs a matrix and there is none."""
    if SCHEMES[scheme].needs_importance and importance is None:
        raise ExportError(
            f"{scheme} needs an importance matrix: make one with llama-imatrix and name it with"
            " --imatrix, or choose a type such as q4_k_m."
        )


def file_type(scheme: Scheme, tensors: Iterable[TensorInfo]) -> LlamaFileType:
    """What the file is: the scheme, or the type that most weights of the layers fell back to.

    Rows that do not divide into blocks of 256 are written in blocks of 32, or in F16. The embedding
    and the output are no part of it: they have types of their own in many schemes.
    """
    elements = Counter[TensorType]()
    for tensor in tensors:
        if tensor.name.startswith("blk.") and len(tensor.shape) > 1:
            elements[tensor.type] += prod(tensor.shape)
    most = max(elements, key=elements.__getitem__, default=scheme.base)
    if most.block_elements >= scheme.base.block_elements:
        return scheme.file_type
    names = {TensorType.F32: "ALL_F32", TensorType.MXFP4: "MOSTLY_MXFP4_MOE"}
    return LlamaFileType[names.get(most, f"MOSTLY_{most.name}")]
