"""States to the last bit, of models whose memories differ: plain, hybrid, sliding window."""

from collections.abc import Iterator
from typing import Any

import llama_cpp.llama_cpp as llama
import numpy as np
import pytest
from tests.support.backends import FIXTURES, GREEDY, LLAMA, read, tokens_of
from tests.support.fetched import real_model

from hubserve_engine.backends.base import BackendConfig, Chunk
from hubserve_engine.backends.llama_cpp import LlamaCppBackend
from hubserve_engine.backends.llama_cpp.model import Model
from hubserve_engine.backends.llama_cpp.state import key
from hubserve_engine.model_info import Running

REAL = [pytest.param(name, marks=pytest.mark.model) for name in ("smollm2", "gemma3")]
WORDS = "The quick brown fox jumps over the lazy dog, and the hour is late in the land. "


@pytest.fixture(params=[*LLAMA, *REAL], scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[LlamaCppBackend]:
    name = request.param
    file = FIXTURES / f"{name}.gguf" if name in LLAMA else real_model(name)
    config = BackendConfig(
        (str(file),), context_length=2048, parallel=4, running=Running(batch=256)
    )
    backend = LlamaCppBackend(config, lambda _done: None)
    yield backend
    backend.close()


@pytest.fixture
def prompt(backend: LlamaCppBackend) -> list[int]:
    """More than gemma3's window of 512."""
    for slot in range(backend.capabilities.slots):
        backend.remove(slot)
    return tokens_of(backend, WORDS * 40)[:560]


def read_all(backend: LlamaCppBackend, slot: int, tokens: list[int]) -> None:
    for start in range(0, len(tokens), 128):
        read(backend, slot, tokens[start : start + 128], start)


def logits(backend: LlamaCppBackend, slot: int, tokens: list[int], position: int) -> Any:
    """All of them, after the last of these tokens."""
    sampler = backend.sampler(GREEDY, tokens)
    backend.launch([Chunk(slot, tokens, position, sampler)])
    ((_, row),) = backend._pending
    found = backend._context.logits(row).copy()
    backend.collect()
    return found


def saved(backend: LlamaCppBackend, slot: int) -> bytes:
    state = backend.save(slot)
    assert state is not None
    return bytes(state)


def test_a_loaded_state_gives_the_same_numbers(backend: LlamaCppBackend, prompt: list[int]) -> None:
    rest = prompt[:8]
    read_all(backend, 0, prompt)
    state = saved(backend, 0)
    first = logits(backend, 0, rest, len(prompt))
    second = logits(backend, 0, rest[:1], len(prompt) + 8)
    backend.remove(0)
    assert backend.load(0, state)
    assert np.array_equal(logits(backend, 0, rest, len(prompt)), first)
    assert np.array_equal(logits(backend, 0, rest[:1], len(prompt) + 8), second)


def test_where_a_loaded_state_is_cut_back_the_numbers_are_right(
    backend: LlamaCppBackend, prompt: list[int]
) -> None:
    read_all(backend, 0, prompt)
    state = saved(backend, 0)
    cut = {}
    for length in (16, 128, len(prompt) - 1):
        rest = prompt[length : length + 8]
        backend.remove(0)
        read_all(backend, 0, prompt[:length])
        expected = logits(backend, 0, rest, length)
        backend.remove(0)
        assert backend.load(0, state)
        cut[length] = backend.truncate(0, length)
        if cut[length]:
            # Chunks of other sizes round differently, by up to this much in four bits.
            assert np.abs(logits(backend, 0, rest, length) - expected).max() < 1.5
    last = cut.pop(len(prompt) - 1)
    assert last == backend.capabilities.truncate
    assert set(cut.values()) == {backend.capabilities.restore_truncates}


def test_the_last_token_can_be_read_again(backend: LlamaCppBackend, prompt: list[int]) -> None:
    """What is needed to sample after a prompt that was loaded whole."""
    read_all(backend, 0, prompt)
    state = saved(backend, 0)
    if not backend.truncate(0, len(prompt) - 1):
        pytest.skip("a recurrent state has no past")
    expected = logits(backend, 0, prompt[-1:], len(prompt) - 1)
    backend.remove(0)
    assert backend.load(0, state)
    assert backend.truncate(0, len(prompt) - 1)
    assert np.array_equal(logits(backend, 0, prompt[-1:], len(prompt) - 1), expected)


def test_one_buffer_serves_all_saves(backend: LlamaCppBackend, prompt: list[int]) -> None:
    read(backend, 0, prompt[:32])
    read(backend, 1, prompt[32:64])
    view = backend.save(0)
    assert view is not None and view.readonly
    copy = bytes(view)
    assert backend.save(1) is not None
    assert view != copy


def test_without_memory_for_a_copy_there_is_none(
    backend: LlamaCppBackend, prompt: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty(*_: Any) -> Any:
        raise MemoryError

    read(backend, 0, prompt[:32])
    monkeypatch.setattr(backend._context.state, "_buffer", np.empty(0, np.uint8))
    monkeypatch.setattr(np, "empty", empty)
    assert backend.save(0) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type_k", 8),
        ("type_v", 8),
        ("flash_attn_type", llama.LLAMA_FLASH_ATTN_TYPE_ENABLED),
        ("kv_unified", True),
        ("swa_full", False),
        ("rope_freq_base", 5000.0),
        ("yarn_orig_ctx", 4096),
    ],
)
def test_settings_that_change_the_numbers_change_the_key(
    backend: LlamaCppBackend, field: str, value: float
) -> None:
    params = llama.llama_context_default_params()
    before = key(backend._model, params, 2048)
    assert key(backend._model, params, 4096) == before
    setattr(params, field, value)
    assert key(backend._model, params, 2048) != before


def test_a_context_that_changes_the_rotary_factors_changes_the_key(
    backend: LlamaCppBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Phi-3's, which has one set of them up to its original context, and one beyond."""
    names = []

    def metadata(_self: Model, name: str) -> str:
        names.append(name)
        return "4096" if name.endswith("rope.scaling.original_context_length") else "phi3"

    monkeypatch.setattr(Model, "metadata", metadata)
    params = llama.llama_context_default_params()
    keys = [key(backend._model, params, length) for length in (2048, 4096, 4352, 8192)]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert "phi3.rope.scaling.original_context_length" in names
