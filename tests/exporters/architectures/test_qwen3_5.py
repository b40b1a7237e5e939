"""Qwen3.5 out of a checkpoint that sees, and its layers that guess further tokens."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.exporters.architectures.test_parity import TOKENS
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import (
    Exported,
    ExportError,
    GGUFExportConfig,
    GGUFReader,
    export_gguf,
    load_gguf_state_dict,
)
from hubserve_exporters.checkpoint import WEIGHTS

JOINTS: Mapping[str, tuple[int, ...]] = {
    "mtp.fc.weight": (64, 128),
    "mtp.norm.weight": (64,),
    "mtp.pre_fc_norm_embedding.weight": (64,),
    "mtp.pre_fc_norm_hidden.weight": (64,),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("plain"), "qwen3_5_text", vary=True)


@pytest.fixture
def guessing(plain: Path, tmp_path: Path) -> Path:
    """The same, with a layer that guesses the token after the next."""
    folder = shutil.copytree(plain, tmp_path / "guessing")
    weights = load_file(folder / WEIGHTS)
    layer = {
        name.replace("model.layers.3.", "mtp.layers.0."): values * np.float32(0.5)
        for name, values in weights.items()
        if name.startswith("model.layers.3.")
    }
    random = np.random.default_rng(0)
    joints = {name: random.normal(size=shape).astype(np.float32) for name, shape in JOINTS.items()}
    save_file({**weights, **layer, **joints}, folder / WEIGHTS)
    return folder


def export(folder: Path, **options: Any) -> Exported:
    options = {"dtype": "f32", "tokenizer": "none", "check": "none", **options}
    return export_gguf(folder, GGUFExportConfig(folder / "it.gguf", **options))


def keys_of(done: Exported) -> Mapping[str, Any]:
    with GGUFReader(done.files[0]) as reader:
        return dict(reader.metadata)


@pytest.mark.parametrize("architecture", ["qwen3_5", "qwen3_5_moe", "gemma3"])
def test_the_language_model_is_exported_alone(architecture: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForImageTextToText

    folder = make(tmp_path, architecture, vary=True, initializer_range=0.05)
    done = export(folder)
    (logits,) = llama_logits([(done.files[0], TOKENS, 256)])

    model = AutoModelForImageTextToText.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.no_grad():
        expected = model(input_ids=torch.tensor([TOKENS])).logits[0].numpy()
    assert ((logits - expected) ** 2).sum() / (expected**2).sum() < 1e-6
    (warning,) = done.warnings
    assert "tensors for images or sound are left out" in warning

    restored = load_gguf_state_dict(done.files[0])
    source = load_file(folder / WEIGHTS)
    assert restored.keys() < source.keys()
    assert all(values.tobytes() == source[name].tobytes() for name, values in restored.items())


def test_layers_that_guess_are_left_out_unless_they_are_asked_for(guessing: Path) -> None:
    done = export(guessing)
    assert keys_of(done)["qwen35.block_count"] == 4
    assert "qwen35.nextn_predict_layers" not in keys_of(done)
    assert any("guess further tokens (MTP) are left out" in warning for warning in done.warnings)


def test_layers_that_guess_can_be_kept(guessing: Path, plain: Path) -> None:
    kept, without = export(guessing, keep_mtp=True), export(plain)
    assert not kept.warnings
    keys = keys_of(kept)
    assert keys["qwen35.block_count"] == 5
    assert keys["qwen35.nextn_predict_layers"] == 1
    assert list(keys["qwen35.attention.recurrent_layers"]) == [True, True, True, False, False]
    restored = load_gguf_state_dict(kept.files[0])
    for name, values in load_file(guessing / WEIGHTS).items():
        np.testing.assert_array_equal(restored[name], values)

    with_layer, plainly = llama_logits([(d.files[0], TOKENS, 256) for d in (kept, without)])
    np.testing.assert_array_equal(with_layer, plainly)


@pytest.mark.parametrize("missing", ["mtp.fc.weight", "mtp.layers.0.self_attn.q_norm.weight"])
def test_half_a_layer_that_guesses_is_refused(guessing: Path, missing: str) -> None:
    weights = load_file(guessing / WEIGHTS)
    del weights[missing]
    save_file(weights, guessing / WEIGHTS)
    with pytest.raises(ExportError, match=missing.replace(".", r"\.")):
        export(guessing, keep_mtp=True)


@pytest.mark.parametrize("keep", [False, True])
def test_layers_that_only_the_configuration_has_are_not_in_the_file(
    plain: Path, tmp_path: Path, keep: bool
) -> None:
    folder = shutil.copytree(plain, tmp_path / "claims")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "mtp_num_hidden_layers": 1}))
    done = export(folder, keep_mtp=keep)
    assert keys_of(done)["qwen35.block_count"] == 4
    assert bool(done.warnings) == keep


def test_every_bit_of_bfloat16_comes_back(plain: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(plain, tmp_path / "bfloat16")
    source = {n: v.astype(ml_dtypes.bfloat16) for n, v in load_file(folder / WEIGHTS).items()}
    save_file(source, folder / WEIGHTS)
    done = export(folder, dtype="auto")
    assert done.types.keys() == {"BF16", "F32"}
    for name, values in load_gguf_state_dict(done.files[0]).items():
        assert values.astype(ml_dtypes.bfloat16).tobytes() == source[name].tobytes()


def test_experts_that_come_as_one_are_the_same(tmp_path: Path) -> None:
    folder = make(tmp_path, "qwen3_5_moe_text", vary=True)
    apart = export(folder).files[0].rename(tmp_path / "apart.gguf")
    weights = load_file(folder / WEIGHTS)
    for layer in range(4):
        experts = f"model.layers.{layer}.mlp.experts"
        gate, up, down = (
            np.stack([weights.pop(f"{experts}.{n}.{part}_proj.weight") for n in range(4)])
            for part in ("gate", "up", "down")
        )
        weights[f"{experts}.gate_up_proj"] = np.concatenate([gate, up], 1)
        weights[f"{experts}.down_proj"] = down
    save_file(weights, folder / WEIGHTS)
    together = export(folder).files[0]

    with GGUFReader(apart) as one, GGUFReader(together) as other:
        assert one.tensors.keys() == other.tensors.keys()
        for name in one.tensors:
            np.testing.assert_array_equal(one.tensor(name), other.tensor(name))
    restored = load_gguf_state_dict(together)
    assert restored.keys() == weights.keys()
    assert all(values.tobytes() == weights[name].tobytes() for name, values in restored.items())
