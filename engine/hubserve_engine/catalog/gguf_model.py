"""What a model's GGUF files say of it, and which GGUF files are no model.

Keys: llama.cpp's gguf-py/gguf/constants.py and src/llama-arch.cpp, version 0.5.0-dev.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from pathlib import Path
from typing import Any

from hubserve_engine.catalog.gguf_files import quantization_of
from hubserve_engine.catalog.gguf_state import StateSize, state_size
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Sampling
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.reader import GGUFFile, open_gguf

# `enum llama_ftype` of llama.h: what `general.file_type` counts.
_FILE_TYPES = {
    **dict(enumerate(("F32", "F16", "Q4_0", "Q4_1"))),
    **dict(enumerate(("Q8_0", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L"), start=7)),
    **dict(enumerate(("Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS"), start=14)),
    **dict(enumerate(("IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL"), start=20)),
    **dict(enumerate(("IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M", "IQ4_XS", "IQ1_M", "BF16"), start=26)),
    **dict(enumerate(("TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"), start=36)),
}
_GUESSED = 1024
"""Added to a file type that was not written by who made the file."""

_LONGEST_NAME = 200
_SAMPLING_NUMBERS = {
    "temp": "temperature",
    "top_p": "top_p",
    "min_p": "min_p",
    "penalty_repeat": "repeat_penalty",
}
_SAMPLING_INTEGERS = {"top_k": "top_k", "penalty_last_n": "repeat_last_n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufModel:
    """The facts of one model. `size` is in bytes, lengths are in tokens; 0 is "not said"."""

    architecture: str
    name: str | None
    quantization: str
    size: int
    parameters: int
    vocabulary: int
    embedding_length: int
    context_trained: int
    layers: int
    state: StateSize
    chat_template: str | None
    sampling: Sampling


def read_model(paths: Sequence[Path]) -> GgufModel:
    """Reads the headers of a model's files, the first part first.

    Raises ResolveError where one is damaged, or where together they are not a model that writes
    text; the message says what they are.
    """
    try:
        files = [open_gguf(path) for path in paths]
        _check_parts(files, paths)
        return _describe(files, paths)
    except GGUFError as error:
        raise ResolveError(f"{str(error).rstrip('.')}.", param="model") from error
    except OSError as error:
        raise ResolveError(
            f"{error.filename or paths[0]} cannot be read: {error.strerror}.", param="model"
        ) from error


def _describe(files: Sequence[GGUFFile], paths: Sequence[Path]) -> GgufModel:
    metadata = files[0].metadata
    architecture = metadata.string("general.architecture")
    tensors = [tensor for file in files for tensor in file.tensors.values()]
    if reason := _not_a_model(metadata, architecture, has_tensors=bool(tensors)):
        raise ResolveError(f"{str(paths[0])!r} cannot be served: {reason}.", param="model")
    architecture = architecture or ""
    embedding = next((t for t in tensors if t.name == "token_embd.weight"), None)
    tokens = metadata.strings("tokenizer.ggml.tokens")
    vocabulary = len(tokens) if tokens is not None else embedding.shape[-1] if embedding else 0
    bytes_of_type = Counter[str]()
    for tensor in tensors:
        bytes_of_type[tensor.type.name] += tensor.size
    return GgufModel(
        architecture=architecture,
        name=_printable(metadata.string("general.name")),
        quantization=_file_type(metadata)
        or quantization_of(paths[0].name)
        or bytes_of_type.most_common(1)[0][0],
        size=sum(file.file_size for file in files),
        parameters=sum(prod(tensor.shape) for tensor in tensors),
        vocabulary=vocabulary,
        embedding_length=metadata.uint(f"{architecture}.embedding_length") or 0,
        context_trained=metadata.uint(f"{architecture}.context_length") or 0,
        layers=metadata.uint(f"{architecture}.block_count") or 0,
        state=state_size(metadata, architecture),
        chat_template=metadata.string("tokenizer.chat_template"),
        sampling=_sampling(metadata),
    )


def _not_a_model(metadata: Metadata, architecture: str | None, *, has_tensors: bool) -> str | None:
    """Why a file is not a model that writes text; None if it is one."""
    kind = metadata.string("general.type")
    if kind == "mmproj" or architecture == "clip":
        return (
            "it is a projector (mmproj) that turns images or sound into input for another model;"
            " name that model's file"
        )
    if kind == "adapter" or "adapter.type" in metadata:
        return "it is an adapter (LoRA) that changes another model; name that model's file"
    if kind == "imatrix" or "imatrix.datasets" in metadata:
        return (
            "it is an importance matrix, which is used to quantize a model; name the quantized"
            " model's file"
        )
    if architecture == "controlvector":
        return "it is a control vector that steers another model; name that model's file"
    if architecture is None:
        return "it does not say its architecture (the key 'general.architecture')"
    if not has_tensors:
        return "it holds a vocabulary only and no weights; name a file with the model's weights"
    if metadata.uint(f"{architecture}.block_count") == 0:
        return f"it says that it has no layers ('{architecture}.block_count' is 0); it is damaged"
    if metadata.flag(f"{architecture}.attention.causal") is False:
        return (
            f"it is an encoder ({architecture!r}), as for embeddings, and does not write text;"
            " name a text model's file"
        )
    return None


def _check_parts(files: Sequence[GGUFFile], paths: Sequence[Path]) -> None:
    count = files[0].metadata.uint("split.count") or 1
    if count != len(files):
        raise ResolveError(
            f"{str(paths[0])!r} is part of a model in {count} files and {len(files)} is there; keep"
            f" all of them together, named NAME-00001-of-{count:05}.gguf and so on.",
            param="model",
        )
    for index, (file, path) in enumerate(zip(files, paths, strict=True)):
        number = file.metadata.uint("split.no") or 0
        if number != index:
            raise ResolveError(
                f"{str(path)!r} says that it is part {number + 1} of {count}, and its name says"
                f" {index + 1}; give the files their own names back.",
                param="model",
            )


def _file_type(metadata: Metadata) -> str | None:
    number = metadata.uint("general.file_type")
    return None if number is None else _FILE_TYPES.get(number % _GUESSED)


def _printable(text: str | None) -> str | None:
    """The text as it can be shown on a terminal, whatever it was meant to do there."""
    return "".join(c for c in text if c.isprintable())[:_LONGEST_NAME] if text else None


def _sampling(metadata: Metadata) -> Sampling:
    """The settings that whoever made the file recommends, over the usual ones.

    Those that are no numbers are passed over, as llama-server does.
    """
    values: dict[str, Any] = {}
    for key, field in (_SAMPLING_NUMBERS | _SAMPLING_INTEGERS).items():
        value = metadata.get(f"general.sampling.{key}")
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            # Numbers of 32 bits come with all digits of 64: 0.6 as 0.6000000238418579.
            values[field] = int(value) if key in _SAMPLING_INTEGERS else round(value, 6)
    return replace(Sampling(), **values)
