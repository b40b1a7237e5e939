"""Quantized checkpoints are refused by name, however they show themselves."""

from pathlib import Path
from typing import Any

import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.packed import refuse_packed
from hubserve_exporters.safetensors_file import StoredTensor


def tensors(name: str, dtype: str = "F16") -> dict[str, StoredTensor]:
    return {name: StoredTensor(Path("it"), dtype, (2, 2), 0, 8)}


@pytest.mark.parametrize("method", ["gptq", "awq", "compressed-tensors", "bitsandbytes", "fp8"])
def test_by_the_configuration(method: str) -> None:
    config: dict[str, Any] = {"quantization_config": {"quant_method": method}}
    for place in (config, {"text_config": config}):
        with pytest.raises(ExportError, match=rf"\({method}\); export the original one"):
            refuse_packed(place, tensors("model.norm.weight"))


@pytest.mark.parametrize(
    ("name", "dtype", "method"),
    [
        ("a.qweight", "I32", "GPTQ or AWQ"),
        ("a.g_idx", "I32", "GPTQ"),
        ("a.W_q", "U8", "HQQ"),
        ("a.weight_packed", "I32", "compressed-tensors"),
        ("a.weight_scale_inv", "F32", "fp8"),
        ("a.weight.absmax", "F32", "bitsandbytes"),
        ("a.SCB", "F32", "bitsandbytes"),
        ("a.weight", "F8_E4M3", "F8_E4M3"),
        ("a.weight", "U8", "U8"),
    ],
)
def test_by_the_names_and_types_of_tensors(name: str, dtype: str, method: str) -> None:
    with pytest.raises(ExportError, match=f"{method}, by the tensor '{name}'"):
        refuse_packed({}, tensors(name, dtype))


def test_what_gguf_has_as_well_passes() -> None:
    config = {"quantization_config": {"quant_method": "mxfp4"}}
    refuse_packed(config, tensors("a.gate_up_proj_blocks", "U8"))
    refuse_packed({"quantization_config": None}, tensors("a.weight"))
