import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.catalog import Catalog, ResolvedModel
from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.config import FlashAttention, ModelConfig
from hubserve_engine.hardware import Gpu, Hardware
from hubserve_engine.prefix_cache import PrefixCache
from hubserve_engine.scheduler import Scheduler
from hubserve_engine.select import choose, shrunk
from hubserve_engine.types import Sampling

TESTS = Path(__file__).parent.parent
KIB, MIB, GIB = 2**10, 2**20, 2**30

# As Qwen3.5-4B in Q4_K_M: 8 of 32 layers with attention.
MODEL = ResolvedModel(
    id="owner/repo:model-Q4_K_M.gguf",
    aliases=(),
    files=(Path("model-Q4_K_M.gguf"),),
    architecture="qwen35",
    name=None,
    quantization="Q4_K_M",
    size=int(2.5 * GIB),
    parameters=4 * 10**9,
    vocabulary=248_320,
    embedding_length=2560,
    context_trained=262_144,
    layers=32,
    state=StateSize(keys=8 * KIB, values=8 * KIB, per_sequence=50 * MIB, heads=16, windowed=False),
    chat_template=None,
    sampling=Sampling(),
)
MACHINE = Hardware(cores=8, memory_total=32 * GIB, memory_free=24 * GIB)
CARD = Gpu("Card", 24 * GIB, 20 * GIB)


def _config(context: int | None = None, flash_attention: FlashAttention = "auto") -> ModelConfig:
    return ModelConfig(MODEL.id, context_length=context, flash_attention=flash_attention)


@pytest.mark.parametrize(
    ("model", "free", "context", "limit"),
    [
        (MODEL, 24 * GIB, 32768, "32768 by default"),
        (replace(MODEL, context_trained=0), 24 * GIB, 32768, "32768 by default"),
        (replace(MODEL, context_trained=32768), 24 * GIB, 32768, "trained length"),
        (replace(MODEL, context_trained=2048), 24 * GIB, 2048, "trained length"),
        (replace(MODEL, context_trained=1000), 24 * GIB, 1024, "trained length"),
        (replace(MODEL, context_trained=100), 24 * GIB, 256, "trained length"),
        (MODEL, 4 * GIB, None, "half of the free memory (1.5 GiB)"),
        (MODEL, 3 * GIB, 512, "half of the free memory (512 MiB)"),
        (MODEL, 1 * GIB, 512, "half of the free memory (0 bytes)"),
    ],
)
def test_the_context_is_the_smallest_of_three(
    model: ResolvedModel, free: int, context: int | None, limit: str
) -> None:
    choice = choose(model, replace(MACHINE, memory_free=free), _config())
    assert choice.context_limit == limit
    if context is not None:
        assert choice.context_length == context


@settings(deadline=None)
@given(
    st.integers(3 * GIB, 16 * GIB),
    st.integers(1024, 2**18),
    st.integers(KIB, 512 * KIB),
    st.integers(0, 100 * MIB),
    st.integers(1, 16),
)
def test_what_is_chosen_fits_half_and_the_next_step_does_not(
    free: int, trained: int, per_token: int, per_sequence: int, parallel: int
) -> None:
    state = StateSize(per_token // 4, per_token // 4, per_sequence, heads=16, windowed=False)
    model = replace(MODEL, state=state, context_trained=trained)
    machine = replace(MACHINE, memory_free=free)
    config = replace(_config(), parallel=parallel)
    choice = choose(model, machine, config)
    half = (free - model.size) // 2
    assert choice.context_length % 256 == 0
    assert choice.context_length <= max(trained + 255, 512)
    if choice.context_length > 512:
        assert choice.memory - model.size <= half
    if choice.context_limit.startswith("half"):
        longer = replace(config, context_length=choice.context_length + 256)
        assert choose(model, machine, longer).memory - model.size > half


@pytest.mark.parametrize(
    ("asked", "context", "limit"),
    [
        (5120, 5120, "--ctx-size"),
        (5000, 5120, "--ctx-size 5000, rounded up to a multiple of 256"),
        (100, 256, "--ctx-size 100, rounded up to a multiple of 256"),
    ],
)
def test_a_context_that_is_asked_for_is_taken(asked: int, context: int, limit: str) -> None:
    choice = choose(MODEL, MACHINE, _config(asked))
    assert (choice.context_length, choice.context_limit) == (context, limit)
    assert choice.notices == ()


def test_more_than_the_trained_length_is_taken_with_a_notice() -> None:
    model = replace(MODEL, context_trained=4096)
    choice = choose(model, MACHINE, _config(8192))
    assert choice.context_length == 8192
    assert "--ctx-size 8192 is more than the 4096 tokens" in choice.notices[0]


def test_a_context_that_could_not_be_allocated_takes_less_memory() -> None:
    choice = choose(MODEL, MACHINE, _config(32768))
    smaller = shrunk(MODEL, choice, 8192)
    assert (smaller.context_length, smaller.context_limit) == (8192, "what could be allocated")
    assert smaller.memory == choose(MODEL, MACHINE, _config(8192)).memory < choice.memory


@pytest.mark.parametrize("asked", [262_144, 99_999_999_999])
def test_more_than_the_memory_is_made_smaller_with_a_notice(asked: int) -> None:
    choice = choose(MODEL, replace(MACHINE, memory_free=4 * GIB), _config(asked))
    assert choice.memory <= 4 * GIB
    assert 8192 < choice.context_length < 262_144
    assert choice.context_limit == "90 % of the free memory (1.5 GiB)"
    (notice,) = choice.notices
    assert f"--ctx-size {asked} needs about" in notice and "and 4 GiB is free" in notice
    assert f"made smaller, {choice.context_length} tokens" in notice


@settings(deadline=None)
@given(st.integers(3 * GIB, 64 * GIB), st.integers(1, 2**40), st.integers(KIB, 512 * KIB))
def test_what_is_asked_for_never_takes_more_than_is_free(
    free: int, asked: int, per_token: int
) -> None:
    model = replace(MODEL, state=replace(MODEL.state, keys=per_token // 4, values=per_token // 4))
    choice = choose(model, replace(MACHINE, memory_free=free), _config(asked))
    assert choice.memory <= free or choice.context_length <= 512
    assert choice.context_length % 256 == 0
    if choice.context_length < asked:
        assert "made smaller" in " ".join(choice.notices)
    else:
        assert choice.context_length < asked + 256


def test_where_not_even_a_small_context_fits_the_weights_are_to_blame() -> None:
    machine = replace(MACHINE, memory_free=MODEL.size + MIB)
    choice = choose(MODEL, machine, _config(256))
    assert choice.context_length == 256
    assert "Even a context of 256 tokens" in choice.notices[0]


def test_weights_beyond_the_memory_are_loaded_with_a_notice() -> None:
    choice = choose(MODEL, replace(MACHINE, memory_free=2 * GIB), _config())
    assert choice.context_length == 512
    assert "weights (2.5 GiB) do not fit the free memory (2 GiB)" in choice.notices[0]


def test_weights_beyond_the_memory_leave_half_of_it_to_what_is_asked_for() -> None:
    machine = replace(MACHINE, memory_free=2 * GIB)
    choice = choose(MODEL, machine, _config(4096))
    assert (choice.context_length, len(choice.notices)) == (4096, 1)
    choice = choose(MODEL, machine, _config(262_144))
    assert choice.memory - MODEL.size <= GIB
    assert choice.context_limit == "half of the free memory (2 GiB)"
    assert "made smaller" in choice.notices[0]


@pytest.mark.parametrize(("asked", "threads"), [(None, 8), (3, 3)])
def test_threads(asked: int | None, threads: int) -> None:
    config = replace(_config(), threads=asked)
    assert choose(MODEL, MACHINE, config).running.threads == threads


@pytest.mark.parametrize(
    ("asked", "gpus", "on"),
    [
        ("auto", (), False),
        ("auto", (CARD,), True),
        ("on", (), True),
        ("off", (CARD,), False),
    ],
)
def test_flash_attention(asked: FlashAttention, gpus: tuple[Gpu, ...], on: bool) -> None:
    choice = choose(MODEL, replace(MACHINE, gpus=gpus), _config(flash_attention=asked))
    assert choice.running.flash_attention is on


@pytest.mark.parametrize(("parallel", "on"), [(1, False), (7, False), (8, True), (16, True)])
def test_many_streams_have_flash_attention_on_a_cpu_too(parallel: int, on: bool) -> None:
    choice = choose(MODEL, MACHINE, replace(_config(), parallel=parallel))
    assert choice.running.flash_attention is on
    assert choice.notices == ()
    off = replace(_config(flash_attention="off"), parallel=parallel)
    assert not choose(MODEL, MACHINE, off).running.flash_attention


def test_a_tiny_model_has_plain_attention_however_many_streams() -> None:
    """As SmolLM2-135M in Q4_1: of its steps attention is the larger part from 1300 tokens on."""
    state = replace(MODEL.state, keys=11_520, values=11_520, per_sequence=0)
    tiny = replace(MODEL, size=98 * 10**6, state=state)
    many = replace(_config(8192), parallel=16)
    assert not choose(tiny, MACHINE, many).running.flash_attention


def test_plain_attention_is_not_to_compute_over_what_nobody_uses() -> None:
    assert choose(MODEL, MACHINE, _config(flash_attention="off")).kept == 0
    assert choose(MODEL, MACHINE, _config(flash_attention="on")).kept > 0


@pytest.mark.parametrize(
    ("gpus", "asked", "layers"),
    [
        ((), None, 0),
        ((), 99, 99),
        ((CARD,), None, -1),
        ((CARD,), 0, 0),
        ((CARD,), 7, 7),
        ((replace(CARD, memory_free=int(1.25 * GIB)),), None, 12),
        ((replace(CARD, memory_free=2 * GIB), replace(CARD, memory_free=2 * GIB)), None, -1),
    ],
)
def test_layers_on_the_gpu(gpus: tuple[Gpu, ...], asked: int | None, layers: int) -> None:
    config = replace(_config(), gpu_layers=asked)
    choice = choose(MODEL, replace(MACHINE, gpus=gpus), config)
    assert choice.running.gpu_layers == layers
    assert choice.running.micro_batch == (512 if gpus and layers else 128)


def test_the_memory_of_the_gpu_counts_where_the_model_is_on_it() -> None:
    machine = replace(MACHINE, memory_free=64 * GIB, gpus=(replace(CARD, memory_free=4 * GIB),))
    assert choose(MODEL, machine, _config()).context_limit == "half of the free memory (1.5 GiB)"
    on_cpu = replace(_config(), gpu_layers=0)
    assert choose(MODEL, machine, on_cpu).context_limit == "32768 by default"


def test_quantized_values_turn_flash_attention_on_and_say_so() -> None:
    choice = choose(MODEL, MACHINE, replace(_config(), cache_type_v="q8_0"))
    assert choice.running.flash_attention
    assert "--cache-type-v q8_0 needs flash attention" in choice.notices[0]
    keys = choose(MODEL, MACHINE, replace(_config(), cache_type_k="q8_0"))
    assert not keys.running.flash_attention
    with_gpu = replace(MACHINE, gpus=(CARD,))
    assert choose(MODEL, with_gpu, replace(_config(), cache_type_v="q8_0")).notices == ()


def test_a_smaller_state_leaves_room_for_a_longer_context() -> None:
    machine = replace(MACHINE, memory_free=4 * GIB)
    usual = choose(MODEL, machine, _config(flash_attention="on"))
    small = replace(_config(flash_attention="on"), cache_type_k="q8_0", cache_type_v="q8_0")
    assert choose(MODEL, machine, small).context_length > usual.context_length


@pytest.mark.parametrize(
    ("batch", "micro_batch", "chosen"),
    [
        (None, None, (128, 128)),
        (None, 1024, (1024, 1024)),
        (128, None, (128, 128)),
        (512, 64, (512, 64)),
    ],
)
def test_a_step_is_as_large_as_the_smaller_of_two(
    batch: int | None, micro_batch: int | None, chosen: tuple[int, int]
) -> None:
    choice = choose(MODEL, MACHINE, replace(_config(), batch=batch, micro_batch=micro_batch))
    assert (choice.running.batch, choice.running.micro_batch) == chosen


def test_the_engine_is_named_with_its_reason() -> None:
    choice = choose(MODEL, MACHINE, _config())
    assert (choice.engine, choice.engine_reason) == ("llama.cpp", "the model is a GGUF file")


@pytest.mark.parametrize("context", [2048, 16384])
@pytest.mark.parametrize("flash_attention", ["off", "on"])
@pytest.mark.parametrize("name", ["tiny-llama.gguf", "tiny-qwen35.gguf"])
def test_the_estimate_is_what_llama_cpp_allocates(
    name: str, flash_attention: FlashAttention, context: int
) -> None:
    path = TESTS / "fixtures" / name
    model = Catalog().resolve(str(path))
    config = replace(_config(context, flash_attention), model=name)
    choice = choose(model, MACHINE, config)
    script = TESTS / "support" / "llama_cpp_sizes.py"
    flash = "1" if flash_attention == "on" else "0"
    slots = choice.parallel + choice.spare
    rows = max(slots, choice.parallel + choice.drafts)
    sizes_of = (slots, rows, choice.snapshots)
    command = [sys.executable, str(script), str(path), str(context), flash, *map(str, sizes_of)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    sizes = json.loads(ended.stdout)

    states = slots * (1 + choice.snapshots)
    stored = model.state.per_token() * context + model.state.per_sequence * states
    assert stored == pytest.approx(sizes["KV"] + sizes["RS"], abs=0.02 * MIB)
    allocated = sum(sizes.values())
    assert allocated <= choice.memory - model.size <= 1.5 * allocated


@pytest.mark.parametrize(
    ("free", "drafts", "snapshots"),
    [
        (256 * GIB, None, 6),
        (30 * GIB, None, 4),
        (22 * GIB, None, 3),
        (20 * GIB, None, 0),
        (2 * GIB, None, 0),
        (256 * GIB, 4, 4),
        (256 * GIB, 0, 0),
    ],
)
def test_earlier_states_are_kept_where_they_are_small_beside_the_free_memory(
    free: int, drafts: int | None, snapshots: int
) -> None:
    config = replace(_config(1024), draft_max=drafts)
    choice = choose(MODEL, replace(MACHINE, memory_free=free), config)
    assert choice.snapshots == snapshots
    without = choose(MODEL, replace(MACHINE, memory_free=free), replace(config, draft_max=0))
    more = choice.memory - without.memory
    rows = 2 * 4 * MODEL.vocabulary * choice.drafts
    assert more == 6 * MODEL.state.per_sequence * snapshots + rows
    assert more <= free // 20 + rows


def test_a_state_that_can_be_cut_anywhere_needs_no_earlier_ones() -> None:
    plain = replace(MODEL, state=replace(MODEL.state, per_sequence=0))
    choice = choose(plain, replace(MACHINE, memory_free=256 * GIB), _config())
    assert (choice.drafts, choice.snapshots) == (15, 0)
    assert choose(plain, MACHINE, replace(_config(), draft_max=3)).drafts == 3


@pytest.mark.parametrize("parallel", [1, 4, 240, 256])
@pytest.mark.parametrize("batch", [None, 1, 16, 512])
def test_a_step_holds_what_cannot_be_cut(parallel: int, batch: int | None) -> None:
    config = replace(_config(4096), parallel=parallel, batch=batch)
    choice = choose(MODEL, MACHINE, config)
    Scheduler(
        parallel=parallel,
        capacity=4096,
        max_batch=choice.running.micro_batch,
        min_chunk=8,
        multiple=4,
        cache=PrefixCache(range(parallel), truncate=True),
    )
    told = any("--batch-size" in notice for notice in choice.notices)
    assert told == (batch is not None and batch < parallel + 22)
