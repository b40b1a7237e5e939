"""Quantized checkpoints are refused by name, however they show themselves."""

from pathlib import Path
from typing import Any

import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.packed import refuse_packed, refuse_quantized
from hubserve_exporters.safetensors_file import StoredTensor


def tensors(name: str, dtype: str = "F16") -> dict[str, StoredTensor]:
    return {name: StoredTensor(Path("it"), dtype, (2, 2), 0, 8)}


@pytest.mark.parametrize("method", ["gptq", "awq", "compressed-tensors", "bitsandbytes", "fp8"])
def test_by_the_configuration(method: str) -> None:
    config: dict[str, Any] = {"quantization_config": {"quant_method": method}}
    for place in (config, {"text_config": config}):
        with pytest.raises(ExportError, match=rf"\({method}\); export the original one"):
            refuse_quantized(place)


def test_by_the_configuration_of_mlx() -> None:
    with pytest.raises(ExportError, match="The checkpoint is quantized"):
        refuse_quantized({"quantization": {"group_size": 64, "bits": 4}})


@pytest.mark.parametrize(
    ("name", "dtype", "method"),
    [
        ("a.qweight", "I32", "GPTQ or AWQ"),
        ("a.g_idx", "I32", "GPTQ"),
        ("a.scales", "F16", "GPTQ, AWQ or MLX"),
        ("a.W_q", "U8", "HQQ"),
        ("a.meta", "U8", "HQQ"),
        ("a.weight_packed", "I32", "compressed-tensors"),
        ("a.weight_scale_inv", "F32", "fp8"),
        ("a.weight.absmax", "F32", "bitsandbytes"),
        ("a.SCB", "F32", "bitsandbytes"),
        ("a.weight.quant_state.bitsandbytes__nf4", "U8", "bitsandbytes"),
        ("a.weight", "F8_E4M3", "F8_E4M3"),
        ("a.weight", "U8", "U8"),
        ("a.weight", "U32", "U32"),
        ("a.bias", "I64", "I64"),
    ],
)
def test_by_the_names_and_types_of_tensors(name: str, dtype: str, method: str) -> None:
    with pytest.raises(ExportError, match=f"{method}, by the tensor '{name}'"):
        refuse_packed(tensors(name, dtype))


def test_what_gguf_has_as_well_passes() -> None:
    config: dict[str, Any] = {"quantization_config": {"quant_method": "mxfp4"}}
    with pytest.raises(ExportError, match=r"is quantized \(mxfp4\)"):
        refuse_quantized(config | {"architectures": ["LlamaForCausalLM"]})
    refuse_quantized(config | {"architectures": ["GptOssForCausalLM"]})
    refuse_packed(tensors("a.gate_up_proj_blocks", "U8"))
    refuse_quantized({"quantization_config": None})
    refuse_packed(tensors("a.weight"))
