"""Checkpoints that are quantized already, known by config.json or by the names of tensors."""

from collections.abc import Mapping
from typing import Any

from hubserve_exporters.errors import ExportError

_ENDINGS: Mapping[str, str] = {
    ".qweight": "GPTQ or AWQ",
    ".qzeros": "GPTQ or AWQ",
    ".g_idx": "GPTQ",
    ".scales": "GPTQ, AWQ or MLX",
    ".W_q": "HQQ",
    ".meta": "HQQ",
    ".weight_packed": "compressed-tensors",
    ".weight_scale": "compressed-tensors or fp8",
    ".weight_scale_inv": "fp8",
    ".weight_scale_2": "ModelOpt",
    ".input_scale": "fp8",
    ".absmax": "bitsandbytes",
    ".quant_map": "bitsandbytes",
    ".SCB": "bitsandbytes",
    ".qscale": "torchao",
}
"""What a tensor's name ends in, and what made it."""
_WITHIN: Mapping[str, str] = {".quant_state.": "bitsandbytes"}
"""Likewise, what stands within."""
_NUMBERS = ("F64", "F32", "F16", "BF16")
"""The types of weights that are not quantized."""
_KEEPS_MXFP4 = "GptOssForCausalLM"
"""The class whose weights stay as they are: GGUF has them, too."""


def refuse_quantized(config: Mapping[str, Any]) -> None:
    """Raises ExportError if config.json says that the weights are quantized; see `_KEEPS_MXFP4`."""
    classes = config.get("architectures")
    keeps = isinstance(classes, list) and _KEEPS_MXFP4 in classes
    for place in (config, config.get("text_config")):
        if not isinstance(place, Mapping):
            continue
        # MLX writes both.
        found = place.get("quantization_config") or place.get("quantization")
        if not found:
            continue
        method = found.get("quant_method") if isinstance(found, Mapping) else None
        if method == "mxfp4" and keeps:
            continue
        raise _refusal(str(method or "quantization_config is set"))


def refuse_packed(tensors: Mapping[str, Any]) -> None:
    """Raises ExportError if the weights' directory shows that they are quantized."""
    for name, tensor in tensors.items():
        for ending, method in _ENDINGS.items():
            if name.endswith(ending):
                raise _refusal(f"{method}, by the tensor {name!r}")
        for part, method in _WITHIN.items():
            if part in name:
                raise _refusal(f"{method}, by the tensor {name!r}")
        if name.endswith((".weight", ".bias")) and tensor.dtype not in _NUMBERS:
            raise _refusal(f"{tensor.dtype}, by the tensor {name!r}")


def _refusal(method: str) -> ExportError:
    return ExportError(
        f"The checkpoint is quantized ({method}); export the original one, or load it in"
        " transformers, call dequantize() and save_pretrained(), and export that."
    )
