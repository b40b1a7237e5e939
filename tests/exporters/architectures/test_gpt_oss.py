"""The experts of gpt-oss, which come in four bits."""

import json
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.exporters.architectures.test_parity import TOKENS, transformers_logits
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf, load_gguf_state_dict
from hubserve_exporters.checkpoint import WEIGHTS


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same model twice: with its experts in MXFP4, and as transformers reads those."""
    import torch
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    plain = tmp_path_factory.mktemp("plain")
    make(plain, "gpt_oss", vary=True, rope_parameters={"rope_theta": 1e4, "rope_type": "default"})
    packed = shutil.copytree(plain, tmp_path_factory.mktemp("packed") / "it")
    random = np.random.default_rng(0)
    numbers = load_file(plain / WEIGHTS)
    codes = dict(numbers)
    for name in [name for name in numbers if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, columns, rows = numbers[name].shape
        blocks = random.integers(0, 256, (experts, rows, columns // 32, 16), np.uint8)
        scales = random.integers(119, 124, blocks.shape[:-1], np.uint8)
        del codes[name]
        codes |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
        read = convert_moe_packed_tensors(
            torch.from_numpy(blocks), torch.from_numpy(scales), dtype=torch.float32
        )
        numbers[name] = read.numpy().copy()
    save_file(numbers, plain / WEIGHTS)
    save_file(codes, packed / WEIGHTS)
    config = json.loads((packed / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (packed / "config.json").write_text(json.dumps(config))
    return packed, plain


def export(folder: Path, type_: str) -> Path:
    path = folder / f"{type_}.gguf"
    export_gguf(folder, GGUFExportConfig(path, dtype=type_, tokenizer="none", check="none"))
    return path


def test_mxfp4_stays_as_it_is(folders: tuple[Path, Path]) -> None:
    packed, plain = (
        {tensor.name: tensor for tensor in gguf.GGUFReader(export(folder, "f32")).tensors}
        for folder in folders
    )
    experts = [name for name in packed if name.endswith("_exps.weight")]
    assert len(experts) == 6
    for name in experts:
        kind = packed[name].tensor_type
        assert kind is gguf.GGMLQuantizationType.MXFP4
        np.testing.assert_array_equal(gguf.dequantize(packed[name].data, kind), plain[name].data)


def test_llama_cpp_computes_with_it(folders: tuple[Path, Path]) -> None:
    packed, plain = folders
    expected = transformers_logits(plain)
    (logits,) = llama_logits([(export(packed, "f32"), TOKENS, 256)])
    # What goes into a matrix of four bits is rounded to eight by llama.cpp.
    assert ((logits - expected) ** 2).sum() / (expected**2).sum() < 1e-2


@pytest.mark.parametrize("type_", ["f32", "q4_k_m"])
def test_codes_and_scales_come_back(folders: tuple[Path, Path], type_: str) -> None:
    packed, _ = folders
    restored = load_gguf_state_dict(export(packed, type_))
    for name, values in load_file(packed / WEIGHTS).items():
        if name.endswith(("_blocks", "_scales")):
            assert restored[name].dtype == values.dtype
            np.testing.assert_array_equal(restored[name], values)
