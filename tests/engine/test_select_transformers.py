from dataclasses import replace
from pathlib import Path

import pytest

from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.config import ModelConfig
from hubserve_engine.errors import StartError
from hubserve_engine.hardware import Gpu, Hardware
from hubserve_engine.select_transformers import choose
from hubserve_engine.types import Sampling

KIB, MIB, GIB = 2**10, 2**20, 2**30
# As Qwen3-0.6B.
MODEL = ResolvedModel(
    id="owner/repo",
    aliases=(),
    files=(Path("config.json"), Path("model.safetensors")),
    format="checkpoint",
    architecture="qwen3",
    name=None,
    quantization="BF16",
    size=int(1.2 * GIB),
    parameters=600 * 10**6,
    vocabulary=151_936,
    embedding_length=1024,
    context_trained=40_960,
    layers=28,
    state=StateSize(keys=28 * KIB, values=28 * KIB, per_sequence=0, heads=16, windowed=False),
    chat_template=None,
    sampling=Sampling(),
)
MACHINE = Hardware(cores=8, memory_total=64 * GIB, memory_free=48 * GIB)
CONFIG = ModelConfig(MODEL.id)


def test_on_a_cpu_numbers_have_32_bits() -> None:
    choice = choose(MODEL, MACHINE, CONFIG, "--engine says so")
    assert (choice.engine, choice.engine_reason) == ("transformers", "--engine says so")
    assert (
        choice.running.cache_type_k,
        choice.running.cache_type_v,
        choice.running.gpu_layers,
    ) == ("f32", "f32", 0)
    assert choice.context_length == 32768
    # Weights, and 8 bytes for a key and its value at each place of the context.
    assert choice.memory > 4 * MODEL.parameters + 8 * 28 * KIB * choice.context_length
    assert choice.notices == ()


def test_a_gpu_is_used_whole_with_half_the_bits() -> None:
    machine = replace(MACHINE, memory_free=GIB, gpus=(Gpu("Card", 24 * GIB, 20 * GIB),))
    choice = choose(MODEL, machine, CONFIG, "")
    assert (choice.running.cache_type_k, choice.running.gpu_layers) == ("bf16", -1)
    assert 2 * MODEL.parameters < choice.memory < 20 * GIB


def test_a_context_that_does_not_fit_is_made_smaller() -> None:
    choice = choose(MODEL, replace(MACHINE, memory_free=6 * GIB), CONFIG, "")
    assert choice.context_length < 32768
    assert choice.context_limit.startswith("half of the free memory")
    assert choice.memory < 6 * GIB


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StartError, match=r"'owner/repo' take 2.24 GiB .* 1 GiB is free"):
        choose(MODEL, replace(MACHINE, memory_free=GIB), CONFIG, "")


def test_what_is_of_llama_cpp_alone_is_named() -> None:
    config = replace(CONFIG, gpu_layers=3, cache_type_v="q8_0", flash_attention="on")
    (notice,) = choose(MODEL, MACHINE, config, "").notices
    assert notice.startswith("--gpu-layers, --flash-attn, --cache-type-v: of llama.cpp alone")


def test_a_hybrid_has_no_spare_slots() -> None:
    hybrid = replace(MODEL, state=replace(MODEL.state, per_sequence=50 * MIB))
    assert choose(MODEL, MACHINE, CONFIG, "").spare > 0
    assert choose(hybrid, MACHINE, CONFIG, "").spare == 0


@pytest.mark.parametrize("parallel", [1, 4, 200])
def test_a_step_holds_a_token_of_every_sequence(parallel: int) -> None:
    config = replace(CONFIG, parallel=parallel, batch=8)
    assert choose(MODEL, MACHINE, config, "").running.batch >= parallel + 2
