"""transformers reads GGUF files too, by code that shares nothing with ours: what it gets out of our
files is what is in the checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporters.architectures.cases import CASES
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf

READ = (
    "llama",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_5_text",
    "qwen3_5_moe_text",
    "gemma2",
    "gemma3_text",
    "phi3",
    "lfm2",
)
"""Those that transformers 5.22 reads; of mixtral it makes something else, of gpt-oss nothing."""


def load(folder: Path, **options: Any) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar, set_verbosity_error

    disable_progress_bar()
    set_verbosity_error()
    return AutoModelForCausalLM.from_pretrained(folder, **options).eval()


def export(folder: Path, type_: str) -> str:
    name = f"{type_}.gguf"
    export_gguf(folder, GGUFExportConfig(folder / name, dtype=type_, check="none"))
    return name


@pytest.mark.parametrize("architecture", READ)
def test_transformers_reads_the_same_weights(architecture: str, tmp_path: Path) -> None:
    import torch

    folder = make(tmp_path, architecture, vary=True, **CASES[architecture].values)
    load(folder, dtype=torch.bfloat16).save_pretrained(folder)

    expected = load(folder, dtype=torch.bfloat16).state_dict()
    found = load(folder, gguf_file=export(folder, "bf16"), dtype=torch.bfloat16).state_dict()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert torch.equal(found[name], values), name


@pytest.mark.parametrize("architecture", ["qwen3_5_text", "qwen3_5_moe_text"])
def test_both_libraries_write_the_same_tokens(architecture: str, tmp_path: Path) -> None:
    import torch

    folder = make(tmp_path, architecture, vary=True)
    file = export(folder, "f32")
    prompt = np.random.default_rng(1).integers(0, 272, (1, 40))
    written = []
    for options in ({}, {"gguf_file": file}):
        model = load(folder, dtype=torch.float32, **options)
        whole = model.generate(
            torch.from_numpy(prompt), max_new_tokens=24, min_new_tokens=24, do_sample=False
        )
        written.append(whole[0].tolist())
    assert written[0] == written[1]

    (logits,) = llama_logits([(folder / file, written[0][:-1], 256)])
    assert logits[39:].argmax(1).tolist() == written[0][40:]
