"""A written model, run by llama.cpp: whether it runs at all, and as transformers runs it."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.isolated.call import Task, call

Logits = NDArray[np.float32]

_FEW = 8
_SHORTEST = 48
_BEYOND = 17
"""So many tokens are read beyond a window or a context, as they are where it begins to matter."""
_KEPT = 16
_LIMITS = {TensorType.F32: 1e-6, TensorType.F16: 2e-3, TensorType.BF16: 3e-3}
_QUANTIZED = 0.1
"""What is allowed, as the mean square of the difference over the variance of the logits. llama.cpp
rounds the inputs of a matrix to the matrix's own type, so these grow as the type gets coarser.
SmolLM2-135M, of 30 layers, has 3e-11 in 32 bits, 2e-5 in F16, 4e-4 in BF16, 1e-2 in Q8_0, and
4e-2 in Q4_K_M; rows in another order, or a window that is not there, make 2e-2 to 1. Where a state
goes from token to token, what a router decided otherwise once is in all that follows: a tiny
Qwen3.5 with experts has 3e-4 in F16."""


def check_run(files: Sequence[Path]) -> None:
    """One decode of a few tokens. Raises ExportError where it fails, or its logits are no numbers.

    `files` are the parts of the model, the first one first.
    """
    with open_gguf(files[0]) as first:
        tokens = _tokens(_vocabulary(first.metadata), _FEW)
    logits = _by_llama_cpp(files[0], tokens, [len(tokens) - 1])
    if not np.isfinite(logits).all():
        raise ExportError(
            "llama.cpp's logits are not finite numbers, so the model would write nothing of sense;"
            " if the type is f16, try bf16."
        )


def check_logits(files: Sequence[Path], checkpoint: Checkpoint, *, known_error: float = 0) -> str:
    """Compares with transformers, beyond every window of the model; what was found, to show.

    A quantized file is compared with a model of the numbers that it holds. Raises ExportError where
    the logits differ by more than rounding, and more than `known_error`, in the same measure.
    """
    main, vocabulary = _main_type(files), checkpoint.config.positive("vocab_size")
    length = min(_length(checkpoint.config), _context(files[0]))
    tokens = _tokens(vocabulary, length)
    begun = min(_KEPT, length)
    keep = [*range(begun), *range(max(0, length - 2 * _KEPT), length)]
    found = _by_llama_cpp(files[0], tokens, keep)
    expected = _by_transformers(
        checkpoint, tokens, keep, weights=files[0] if main not in _LIMITS else None
    )
    limit = max(_LIMITS.get(main, _QUANTIZED), known_error)
    difference = _difference(found[:, : expected.shape[1]], expected[:, : found.shape[1]], begun)
    if not difference.error <= limit:
        raise ExportError(
            f"llama.cpp's logits differ from transformers' by {difference.error:.2g} at the"
            f" {difference.where} of {length} tokens, where {limit:.2g} is rounding: the file would"
            " give other answers than the checkpoint."
        )
    return f"logits of transformers: {difference.error:.1e} on {length} tokens"


@dataclass(frozen=True, slots=True)
class _Difference:
    error: float
    where: str


def _difference(found: Logits, expected: Logits, begun: int = _KEPT) -> _Difference:
    """The larger one of the beginning, which are so many rows, and the end. Of each the median
    counts: a router that sends one token to another expert is rounding, too."""
    errors = np.square(found.astype(np.float64) - expected).mean(1) / expected.var(1)
    parts = {"beginning": errors[:begun], "end": errors[begun:]}
    medians = {where: float(np.median(part)) for where, part in parts.items()}
    where = max(medians, key=lambda part: (not np.isfinite(medians[part]), medians[part]))
    return _Difference(medians[where], where)


def _length(config: Config) -> int:
    """Tokens beyond all windows and the context before scaling, as far as the model reads."""
    rope = config.values.get("rope_parameters") or config.values.get("rope_scaling")
    places: list[Mapping[str, Any]] = [config.values]
    if isinstance(rope, Mapping):
        # Some models have one for each kind of layer.
        places += [rope, *(part for part in rope.values() if isinstance(part, Mapping))]
    limits = [
        value
        for place in places
        for key in ("sliding_window", "original_max_position_embeddings")
        if type(value := place.get(key)) is int and value > 0
    ]
    longest = config.positive("max_position_embeddings")
    return min(max((_SHORTEST, *(limit + _BEYOND for limit in limits))), longest)


def _context(file: Path) -> int:
    """Tokens that the file says it reads: less than the model does, where a window cuts them."""
    with open_gguf(file) as first:
        architecture = first.metadata.string("general.architecture")
        return first.metadata.uint(f"{architecture}.context_length") or 1


def _tokens(vocabulary: int, count: int) -> list[int]:
    """Some tokens, the same for the same model."""
    return [int(token) for token in np.random.default_rng(0).integers(0, vocabulary, count)]


def _vocabulary(metadata: Metadata) -> int:
    tokens = metadata.strings("tokenizer.ggml.tokens")
    architecture = metadata.string("general.architecture")
    return len(tokens) if tokens else metadata.uint(f"{architecture}.vocab_size") or 1


def _main_type(files: Sequence[Path]) -> TensorType:
    """The coarsest type of the matrices: quantized, if any of them is."""
    types = set()
    for path in files:
        with open_gguf(path) as file:
            types |= {tensor.type for tensor in file.tensors.values()}
    return min(types, key=lambda type_: type_.block_bytes / type_.block_elements)


def _by_llama_cpp(file: Path, tokens: list[int], keep: list[int]) -> Logits:
    arguments = {"file": str(file), "tokens": tokens, "keep": keep}
    return _logits("evaluating", arguments, "running the model in llama.cpp")


def _by_transformers(
    checkpoint: Checkpoint, tokens: list[int], keep: list[int], *, weights: Path | None
) -> Logits:
    arguments = {
        "folder": str(checkpoint.folder),
        "tokens": tokens,
        "keep": keep,
        "weights": None if weights is None else str(weights),
    }
    return _logits("reference", arguments, "running the model in transformers")


def _logits(task: Task, arguments: Mapping[str, object], doing: str) -> Logits:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logits.npy"
        call(task, {**arguments, "logits": str(path)}, doing=doing)
        logits: Logits = np.load(path, allow_pickle=False)
    return logits
