"""Memory that cannot be had, and steps that fail."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as llama
import pytest
from tests.support.backends import LLAMA, load, read, tokens_of, write

from hubserve_engine.backends.base import Chunk
from hubserve_engine.errors import LoadError

Allocate = Callable[[Any, Any], Any]


@pytest.fixture(params=LLAMA)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets no context of more than so many tokens be allocated."""
    allocate: Allocate = llama.llama_init_from_model

    def limited(most: int) -> None:
        def init(model: Any, params: Any) -> Any:
            return allocate(model, params) if params.n_ctx <= most else None

        monkeypatch.setattr(llama, "llama_init_from_model", init)

    return limited


def test_a_context_that_cannot_be_allocated_is_made_smaller(
    name: str, tmp_path: Path, memory: Callable[[int], None]
) -> None:
    memory(1500)
    backend = load(name, tmp_path, context=4096)
    assert backend.capabilities.context_length == 1024
    (notice,) = backend.loaded.notices
    assert "4096 tokens could not be allocated" in notice
    assert "1024" in notice
    assert len(write(backend, 0, tokens_of(backend, "the land"), 4)) == 4
    backend.close()


def test_the_context_that_was_asked_for_needs_no_notice(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path, context=1024)
    assert backend.capabilities.context_length == 1024
    assert backend.loaded.notices == ()
    backend.close()


def test_where_no_context_can_be_allocated_loading_fails(
    name: str, tmp_path: Path, memory: Callable[[int], None]
) -> None:
    memory(0)
    with pytest.raises(LoadError, match="A context of 4096 tokens cannot be allocated"):
        load(name, tmp_path, context=4096)


def test_a_step_is_no_larger_than_the_context(name: str, tmp_path: Path) -> None:
    """llama.cpp ends the process over a larger one."""
    backend = load(name, tmp_path, context=256, batch=512)
    assert backend.capabilities.max_batch == 256
    read(backend, 0, tokens_of(backend, "x" * 256))
    backend.close()


def test_a_step_is_one_micro_batch(name: str, tmp_path: Path) -> None:
    """Else llama.cpp cuts it itself, wherever that may be."""
    backend = load(name, tmp_path, context=1024, batch=512)
    most = backend.capabilities.max_batch
    assert most == 256
    prompt = tokens_of(backend, "the land and the hour " * 40)[:500]
    assert write(backend, 0, prompt, 8, chunk=most) == write(backend, 1, prompt, 8, chunk=100)
    backend.close()


def test_a_step_that_makes_no_sense_says_what_llama_cpp_says(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path)
    read(backend, 0, [1, 2, 3])
    with pytest.raises(RuntimeError, match=r"llama_decode returned -1: .*position"):
        backend.launch([Chunk(0, [4, 5], 1)])
    backend.close()
