"""Real tokenizers: made into files of a checkpoint, exported, and held against the original.

The collection of llama.cpp has, beside each, what transformers made of some texts with the files of
its makers: that is what counts in the end.
"""

from pathlib import Path

import pytest
from tests.support.fetched import real_model, real_vocabulary
from tests.support.tokenizers import write_vocabulary

from hubserve_exporters.checkpoint import Checkpoint, open_checkpoint
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.isolated.call import call
from hubserve_exporters.vocab.compare import compare_tokenizers
from hubserve_exporters.vocab.files import read_tokenizer_files
from hubserve_exporters.vocab.metadata import tokenizer_metadata
from hubserve_exporters.vocab.original import encode
from hubserve_exporters.vocab.restore import tokenizer_files

pytestmark = pytest.mark.model

SEPARATOR = "\n__ggml_vocab_test__\n"
JSON, MODEL = "tokenizer.json", "tokenizer.model"
QUICK = ("llama-spm", "gpt-2")
SLOW = (
    *("phi-3", "llama-bpe", "qwen2", "qwen35", "starcoder", "refact", "mpt", "deepseek-coder"),
    *("deepseek-llm", "command-r"),
)


def round_trip(source: Path, folder: Path, *without: str) -> tuple[Checkpoint, Path]:
    """A checkpoint with the tokenizer of the file, `without` some files; and it exported again."""
    with open_gguf(source) as file:
        files = tokenizer_files(file.metadata)
        rows = len(file.metadata.strings("tokenizer.ggml.tokens") or ())
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    for name, content in files.items():
        if name not in without and "/" not in name:
            (folder / name).write_bytes(content)
    checkpoint = open_checkpoint(folder)
    target = folder / "v.gguf"
    write_vocabulary(target, tokenizer_metadata(checkpoint, rows).keys)
    return checkpoint, target


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in SLOW)]
)
def test_the_tokens_are_those_that_transformers_made(name: str, tmp_path: Path) -> None:
    source = real_vocabulary(name)
    checkpoint, target = round_trip(source, tmp_path / "c")
    texts = source.with_name(f"{source.name}.inp").read_text("utf-8").split(SEPARATOR)[:-1]
    lines = source.with_name(f"{source.name}.out").read_text("utf-8").split("\n")[:-1]
    expected = [[int(number) for number in line.split()] for line in lines]
    assert len(texts) == len(expected) > 40
    files = read_tokenizer_files(checkpoint)
    assert encode(files, [], texts) == expected
    answer = call("tokenizing", {"path": str(target), "texts": texts, "framed": []}, doing="a test")
    assert answer["tokens"] == expected
    assert compare_tokenizers(target, checkpoint) == []


def test_smollm2(tmp_path: Path) -> None:
    checkpoint, target = round_trip(real_model("smollm2"), tmp_path / "c")
    with open_gguf(target) as file:
        assert file.metadata.string("tokenizer.ggml.pre") == "smollm"
    assert compare_tokenizers(target, checkpoint) == []


@pytest.mark.long
def test_qwen2_5_coder(tmp_path: Path) -> None:
    checkpoint, target = round_trip(real_model("qwen2.5-coder"), tmp_path / "c")
    assert compare_tokenizers(target, checkpoint) == []


@pytest.mark.long
@pytest.mark.parametrize("without", [JSON, MODEL, "neither"])
@pytest.mark.parametrize("name", ["gemma3", "llama-spm"])
def test_pieces_out_of_either_file(name: str, without: str, tmp_path: Path) -> None:
    source = real_model(name) if name == "gemma3" else real_vocabulary(name)
    checkpoint, target = round_trip(source, tmp_path / "c", without)
    assert compare_tokenizers(target, checkpoint) == []
