"""A written file held against the checkpoint's own tokenizer."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.tokenizers import (
    CONTROL,
    byte_level,
    export_vocabulary,
    folder,
    put_first,
    rows_of,
    write_vocabulary,
)

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.vocab.compare import check_tokenizers, compare_tokenizers
from hubserve_exporters.vocab.metadata import tokenizer_metadata


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    tokenizer = byte_level()
    tokenizer["post_processor"] = put_first(CONTROL, rows_of(tokenizer) - 2)
    named = {"eos_token": CONTROL, "bos_token": CONTROL}
    return folder(tmp_path / "c", tokenizer=tokenizer, tokenizer_config=named)


@pytest.fixture
def keys(checkpoint: Checkpoint) -> dict[str, Value]:
    return dict(tokenizer_metadata(checkpoint, rows_of(byte_level())).keys)


def test_a_file_as_it_is_exported_gives_the_same_tokens(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    found = export_vocabulary(checkpoint, tmp_path / "v.gguf", 500)
    assert found.keys["tokenizer.ggml.add_bos_token"] is True
    check_tokenizers(tmp_path / "v.gguf", checkpoint)


def test_a_merge_that_is_missing_is_found(
    checkpoint: Checkpoint, keys: dict[str, Value], tmp_path: Path
) -> None:
    merges = keys["tokenizer.ggml.merges"]
    assert isinstance(merges, list)
    keys["tokenizer.ggml.merges"] = merges[1:]
    write_vocabulary(tmp_path / "v.gguf", keys)
    with pytest.raises(ExportError, match="The written file gives other tokens") as raised:
        check_tokenizers(tmp_path / "v.gguf", checkpoint)
    lines = str(raised.value).splitlines()
    assert len(lines) == 7, "five texts are shown"
    assert ", and in llama.cpp [" in lines[1]


def test_a_special_token_that_is_none_is_found(
    checkpoint: Checkpoint, keys: dict[str, Value], tmp_path: Path
) -> None:
    types = keys["tokenizer.ggml.token_type"]
    assert isinstance(types, np.ndarray)
    keys["tokenizer.ggml.token_type"] = [1] * len(types)
    keys["tokenizer.ggml.eos_token_id"] = 5
    tokens = keys["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    keys["tokenizer.ggml.tokens"] = [text.replace("think", "thonk") for text in tokens]
    write_vocabulary(tmp_path / "v.gguf", keys)
    different = {one.text for one in compare_tokenizers(tmp_path / "v.gguf", checkpoint)}
    assert "before<think>after" in different


def test_a_token_that_is_to_be_put_first_and_is_not_is_found(
    checkpoint: Checkpoint, keys: dict[str, Value], tmp_path: Path
) -> None:
    keys["tokenizer.ggml.bos_token_id"] = 10**6  # llama.cpp takes its own, token 11
    write_vocabulary(tmp_path / "v.gguf", keys)
    found = compare_tokenizers(tmp_path / "v.gguf", checkpoint)
    assert [one.text for one in found] == ["", "Hello", " two words"]


def test_a_file_that_llama_cpp_does_not_load_is_an_error(
    checkpoint: Checkpoint, keys: dict[str, Value], tmp_path: Path
) -> None:
    keys["tokenizer.ggml.pre"] = "made-up"
    write_vocabulary(tmp_path / "v.gguf", keys)
    with pytest.raises(ExportError, match="unknown pre-tokenizer type: 'made-up'"):
        compare_tokenizers(tmp_path / "v.gguf", checkpoint)


def test_a_file_that_ends_llama_cpp_is_an_error_here(
    checkpoint: Checkpoint, keys: dict[str, Value], tmp_path: Path
) -> None:
    tokens = keys["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    keys["tokenizer.ggml.tokens"] = [*tokens[:-1], tokens[0]]
    write_vocabulary(tmp_path / "v.gguf", keys)
    with pytest.raises(
        ExportError, match=r"Reading the tokenizer that was written failed.*SIGABRT"
    ):
        compare_tokenizers(tmp_path / "v.gguf", checkpoint)


def test_a_file_without_a_vocabulary_has_nothing_to_compare(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    write_vocabulary(tmp_path / "v.gguf", {"tokenizer.ggml.model": "none"})
    assert compare_tokenizers(tmp_path / "v.gguf", checkpoint) == []
