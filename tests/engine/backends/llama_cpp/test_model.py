"""Files that are refused say why, in one sentence."""

import os
from pathlib import Path

import pytest
from tests.support.backends import FIXTURES, load

from hubserve_engine.backends.base import BackendConfig
from hubserve_engine.backends.llama_cpp import LlamaCppBackend
from hubserve_engine.errors import LoadError

TINY = FIXTURES / "tiny-llama.gguf"


def loaded(file: Path, progress: list[float] | None = None) -> LlamaCppBackend:
    config = BackendConfig(files=(str(file),), context_length=256, parallel=1)
    seen = [] if progress is None else progress
    return LlamaCppBackend(config, seen.append)


def changed(folder: Path, before: bytes, after: bytes) -> Path:
    """The tiny model with other bytes of the same length."""
    assert len(before) == len(after)
    data = TINY.read_bytes()
    assert before in data
    path = folder / "changed.gguf"
    path.write_bytes(data.replace(before, after))
    return path


def test_progress_ends_at_the_whole() -> None:
    progress: list[float] = []
    loaded(TINY, progress).close()
    assert progress == sorted(progress)
    assert progress[-1] == 1.0


def test_an_architecture_that_is_not_known_is_named(tmp_path: Path) -> None:
    file = changed(tmp_path, b"llama", b"lamba")
    with pytest.raises(LoadError, match=r"'changed.gguf' has the architecture 'lamba'"):
        loaded(file)


def test_a_tokenizer_that_is_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="has the tokenizer 'llama-bpq'"):
        loaded(changed(tmp_path, b"llama-bpe", b"llama-bpq"))


@pytest.mark.parametrize("size", [0, 10, 1000, 60_000])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    file = tmp_path / "short.gguf"
    file.write_bytes(TINY.read_bytes()[:size])
    with pytest.raises(LoadError, match=r"^llama.cpp cannot load 'short.gguf': [^\n]+\.$"):
        loaded(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"'none.gguf'"):
        loaded(tmp_path / "none.gguf")


def test_a_name_that_is_no_text_is_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"mod\xff\xc3\xa9l.gguf")
    file.write_bytes(TINY.read_bytes())
    loaded(file).close()


def test_the_reason_is_that_of_this_file(tmp_path: Path) -> None:
    """Not of one that was tried before in the same process."""
    with pytest.raises(LoadError, match="lamba"):
        loaded(changed(tmp_path, b"llama", b"lamba"))
    (tmp_path / "text.gguf").write_text("no model at all")
    with pytest.raises(LoadError) as refused:
        loaded(tmp_path / "text.gguf")
    assert "lamba" not in refused.value.message


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    for name, trained in (("tiny-llama", 4096), ("tiny-qwen35", 65536)):
        backend = load(name, tmp_path)
        described = backend.loaded
        assert described.architecture == name.removeprefix("tiny-")
        assert described.context_trained == trained
        assert described.vocabulary == 288
        assert described.embedding_length == 64
        assert 10_000 < described.parameters < 10_000_000
        assert described.bos == "<|endoftext|>"
        assert described.hardware == "1 CPU thread"
        backend.close()
