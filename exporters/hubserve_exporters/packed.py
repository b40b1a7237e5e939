"""Checkpoints that are quantized already, known by config.json or by the names of tensors."""

from collections.abc import Mapping
from typing import Any

from hubserve_exporters.errors import ExportError

_ENDINGS: Mapping[str, str] = {
    ".qweight": "GPTQ or AWQ",
    ".qzeros": "GPTQ or AWQ",
    ".g_idx": "GPTQ",
    ".W_q": "HQQ",
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
_DTYPES = ("F8_E4M3", "F8_E5M2", "I8", "U8", "I16", "I32")


def refuse_packed(config: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Raises ExportError if the weights are quantized; mxfp4 of gpt-oss passes, which GGUF has.

    The two come from config.json and from the weights' directory.
    """
    method = _method(config)
    if method == "mxfp4":
        return
    if method is None:
        method = _by_names(tensors)
    if method is None:
        return
    raise ExportError(
        f"The checkpoint is quantized ({method}); export the original one, or load it in"
        " transformers, call dequantize() and save_pretrained(), and export that."
    )


def _method(config: Mapping[str, Any]) -> str | None:
    for place in (config, config.get("text_config")):
        if isinstance(place, Mapping) and (found := place.get("quantization_config")):
            name = found.get("quant_method") if isinstance(found, Mapping) else None
            return str(name or "quantization_config is set")
    return None


def _by_names(tensors: Mapping[str, Any]) -> str | None:
    for name, tensor in tensors.items():
        for ending, method in _ENDINGS.items():
            if name.endswith(ending):
                return f"{method}, by the tensor {name!r}"
        if name.endswith(".weight") and tensor.dtype in _DTYPES:
            return f"{tensor.dtype}, by the tensor {name!r}"
    return None
