"""llama.cpp computes from the file what transformers computes from the checkpoint.

All files are made and read once, in one process for each library. The text is longer than all
windows and than the context before scaling.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tests.exporters.architectures.cases import CASES
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf, load_gguf_state_dict, parity
from hubserve_exporters.architectures import find
from hubserve_exporters.checkpoint import open_checkpoint
from hubserve_exporters.gguf.tensor_types import TensorType

TOKENS = np.random.default_rng(0).integers(0, 272, 96).tolist()
GATES = {"f32": 1e-9, "f16": 1e-5, "bf16": 5e-4}
"""The most that the squares of what differs may add up to, as a share of those of the logits."""
GELU = 1e-6
"""For gemma in 32 bits: llama.cpp takes its GELU from a table of 16 bits."""
QUANTIZED, QUANTIZED_GATE = "q8_0", 1e-2
"""All that are written in 16 bits are quantized, too, and compared with the numbers that stand in
the file: llama.cpp rounds what it multiplies them with."""
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
PAIRS = [(name, type_) for name, case in CASES.items() for type_ in case.types]


@dataclass(frozen=True)
class Outcome:
    """A checkpoint, and what it and its files give; the latter by type. `known_error` is what is
    said of the former."""

    folder: Path
    files: dict[str, Path]
    expected: NDArray[np.float32]
    quantized: NDArray[np.float32]
    known_error: float
    logits: dict[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("parity")
    made = {}
    for name, case in CASES.items():
        values = {"initializer_range": 0.05, **case.values}
        folder = make(root / name, case.architecture, vary=True, **values)
        files = {type_: folder / f"{type_}.gguf" for type_ in types_of(name)}
        for type_, file in files.items():
            export_gguf(
                folder,
                GGUFExportConfig(file, dtype=type_, tokenizer="none", check="none"),
            )
        expected = transformers_logits(folder)
        quantized = (
            transformers_logits(folder, files[QUANTIZED]) if QUANTIZED in files else expected
        )
        source = open_checkpoint(folder)
        known_error = find(source.architecture)(source.config, {}).known_error
        made[name] = folder, files, expected, quantized, known_error
    pairs = [(name, type_) for name in CASES for type_ in types_of(name)]
    jobs = [(made[name][1][type_], TOKENS, CASES[name].context) for name, type_ in pairs]
    found = dict(zip(pairs, llama_logits(jobs), strict=True))
    return {
        name: Outcome(*parts, {type_: found[name, type_] for type_ in parts[1]})
        for name, parts in made.items()
    }


def types_of(name: str) -> tuple[str, ...]:
    types = CASES[name].types
    return (*types, QUANTIZED) if len(types) > 1 else types


def transformers_logits(folder: Path, weights: Path | None = None) -> NDArray[np.float32]:
    """Of the checkpoint, or of the numbers that a file has of it."""
    import torch
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": "eager"}
    model = AutoModelForCausalLM.from_pretrained(folder, **options)
    if weights is not None:
        numbers = load_gguf_state_dict(weights).items()
        state = {name: torch.tensor(values) for name, values in numbers}
        model = type(model).from_pretrained(None, config=model.config, state_dict=state, **options)
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
    assert share < max(GELU if gemma else GATES[type_], outcome.known_error)


@pytest.mark.parametrize(("name", "type_"), PAIRS)
def test_the_full_check_takes_what_is_right(
    outcomes: dict[str, Outcome], name: str, type_: str
) -> None:
    outcome = outcomes[name]
    found = parity._difference(outcome.logits[type_], outcome.expected).error
    assert found < max(parity._LIMITS[TensorType[type_.upper()]], outcome.known_error)


@pytest.mark.parametrize("name", [name for name in CASES if QUANTIZED in types_of(name)])
def test_quantized_logits_are_those_of_the_numbers_in_the_file(
    outcomes: dict[str, Outcome], name: str
) -> None:
    outcome = outcomes[name]
    wrong = ((outcome.logits[QUANTIZED] - outcome.quantized) ** 2).sum()
    assert wrong / (outcome.quantized**2).sum() < QUANTIZED_GATE
    assert not np.array_equal(outcome.quantized, outcome.expected)


@pytest.mark.parametrize(("name", "type_"), PAIRS)
def test_every_bit_comes_back(outcomes: dict[str, Outcome], name: str, type_: str) -> None:
    outcome = outcomes[name]
    source = load_file(outcome.folder / "model.safetensors")
    restored = load_gguf_state_dict(outcome.files[type_])

    assert restored.keys() == source.keys()
    for tensor, values in restored.items():
        assert values.dtype in (DTYPES[type_], np.float32)
        assert values.tobytes() == source[tensor].astype(values.dtype).tobytes(), tensor
