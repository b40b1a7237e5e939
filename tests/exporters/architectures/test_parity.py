"""llama.cpp computes from the file what transformers computes from the checkpoint.

All files are made and read once, in one process for each library. The text is longer than all
windows and than the context before scaling.
"""

from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tests.exporters.architectures.cases import CASES
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf, load_gguf_state_dict

TOKENS = np.random.default_rng(0).integers(0, 272, 96).tolist()
GATES = {"f32": 1e-9, "f16": 1e-5, "bf16": 5e-4}
"""The most that the squares of what differs may add up to, as a share of those of the logits."""
GELU = 1e-6
"""For gemma in 32 bits: llama.cpp takes its GELU from a table of 16 bits."""
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
PAIRS = [(name, type_) for name, case in CASES.items() for type_ in case.types]


@dataclass(frozen=True)
class Outcome:
    """A checkpoint, and what it and its files give; the latter by type."""

    folder: Path
    files: dict[str, Path]
    expected: NDArray[np.float32]
    logits: dict[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("parity")
    made = {}
    for name, case in CASES.items():
        values = {"initializer_range": 0.05, **case.values}
        folder = make(root / name, case.architecture, vary=True, **values)
        files = {type_: folder / f"{type_}.gguf" for type_ in case.types}
        for type_, file in files.items():
            export_gguf(
                folder,
                GGUFExportConfig(file, dtype=type_, tokenizer="none", check="none"),
            )
        made[name] = folder, files, transformers_logits(folder)
    jobs = [(made[name][1][type_], TOKENS, CASES[name].context) for name, type_ in PAIRS]
    found = dict(zip(PAIRS, llama_logits(jobs), strict=True))
    return {
        name: Outcome(folder, files, expected, {type_: found[name, type_] for type_ in files})
        for name, (folder, files, expected) in made.items()
    }


def transformers_logits(folder: Path) -> NDArray[np.float32]:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    with torch.no_grad():
        logits: NDArray[np.float32] = model(torch.tensor([TOKENS])).logits[0].numpy()
    return logits


@pytest.mark.parametrize(("name", "type_"), PAIRS)
def test_logits_are_those_of_transformers(
    outcomes: dict[str, Outcome], name: str, type_: str
) -> None:
    outcome = outcomes[name]
    wrong = ((outcome.logits[type_] - outcome.expected) ** 2).sum()
    share = wrong / (outcome.expected**2).sum()
    gemma = type_ == "f32" and CASES[name].architecture.startswith("gemma")
    assert share < (GELU if gemma else GATES[type_])


@pytest.mark.parametrize(("name", "type_"), PAIRS)
def test_every_bit_comes_back(outcomes: dict[str, Outcome], name: str, type_: str) -> None:
    outcome = outcomes[name]
    source = load_file(outcome.folder / "model.safetensors")
    restored = load_gguf_state_dict(outcome.files[type_])

    assert restored.keys() == source.keys()
    for tensor, values in restored.items():
        assert values.dtype in (DTYPES[type_], np.float32)
        assert values.tobytes() == source[tensor].astype(values.dtype).tobytes(), tensor
