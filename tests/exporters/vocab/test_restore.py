"""Tokenizer files made out of a file's keys."""

import json
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
    sentencepiece_json,
    sentencepiece_model,
    write_vocabulary,
)
from tokenizers import Tokenizer

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.vocab.corpus import corpus
from hubserve_exporters.vocab.metadata import tokenizer_metadata
from hubserve_exporters.vocab.patterns import SPLITTINGS
from hubserve_exporters.vocab.restore import tokenizer_files


def restore(path: Path) -> dict[str, bytes]:
    with open_gguf(path) as file:
        return tokenizer_files(file.metadata)


@pytest.mark.parametrize("name", ["gpt-2", "smollm", "llama-bpe", "qwen35"])
def test_a_byte_level_tokenizer_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    splitting = SPLITTINGS[name]
    original = byte_level(splitting.patterns, ignore_merges=splitting.ignore_merges)
    original["post_processor"] = put_first(CONTROL, rows_of(original) - 2)
    named = {"eos_token": CONTROL, "bos_token": CONTROL}
    checkpoint = folder(tmp_path, tokenizer=original, tokenizer_config=named)
    export_vocabulary(checkpoint, tmp_path / "v.gguf", rows_of(original) + 4)
    files = restore(tmp_path / "v.gguf")
    assert files.keys() == {"tokenizer.json", "tokenizer_config.json"}
    back, first = Tokenizer.from_str(files["tokenizer.json"].decode()), original
    before = Tokenizer.from_str(json.dumps(first))
    assert back.get_vocab(with_added_tokens=True) == before.get_vocab(with_added_tokens=True)
    for text in (*corpus(), f"a{CONTROL}b <think>"):
        assert back.encode(text, add_special_tokens=False).ids == (
            before.encode(text, add_special_tokens=False).ids
        )
    end = rows_of(original) - 2
    assert back.encode("a").ids[0] == end, "the BOS token is put first"
    assert back.decode(before.encode("Größe, 漢字 🙂").ids) == "Größe, 漢字 🙂"
    config = json.loads(files["tokenizer_config.json"])
    assert (config["bos_token"], config["eos_token"]) == (CONTROL, CONTROL)


def test_both_files_of_a_sentencepiece_tokenizer_agree(tmp_path: Path) -> None:
    from sentencepiece import SentencePieceProcessor

    checkpoint = folder(tmp_path, model=sentencepiece_model())
    export_vocabulary(checkpoint, tmp_path / "v.gguf", 430)
    files = restore(tmp_path / "v.gguf")
    processor = SentencePieceProcessor(model_proto=files["tokenizer.model"])
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    assert tokenizer.get_vocab_size() == 420, "padding is no tokens"
    for text in corpus():
        assert tokenizer.encode(text, add_special_tokens=False).ids == processor.encode(text), text


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
def test_transformers_loads_what_comes_back(kind: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    original = byte_level() if kind == "bytes" else sentencepiece_json()
    end = CONTROL if kind == "bytes" else "</s>"
    original["post_processor"] = put_first(end, rows_of(original) - 2 if kind == "bytes" else 2)
    named = {"eos_token": end, "bos_token": end}
    checkpoint = folder(tmp_path / "a", tokenizer=original, tokenizer_config=named)
    export_vocabulary(checkpoint, tmp_path / "v.gguf", 430)
    (tmp_path / "b").mkdir()
    for name, content in restore(tmp_path / "v.gguf").items():
        (tmp_path / "b" / name).write_bytes(content)
    first, second = (AutoTokenizer.from_pretrained(tmp_path / name) for name in ("a", "b"))
    assert second.eos_token == end
    for text in corpus()[::5]:
        assert second(text)["input_ids"] == first(text)["input_ids"], text


def test_templates_become_files(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "{{ x }}"}, {"name": "rag", "template": "{{ y }}"}]
    config = {"eos_token": CONTROL, "chat_template": named}
    checkpoint = folder(tmp_path, tokenizer=byte_level(), tokenizer_config=config)
    export_vocabulary(checkpoint, tmp_path / "v.gguf", 500)
    files = restore(tmp_path / "v.gguf")
    assert files["chat_template.jinja"] == b"{{ x }}"
    assert files["additional_chat_templates/rag.jinja"] == b"{{ y }}"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"model": "t5", "tokens": ["a"]}, "of the kind 't5'"),
        ({"tokens": ["a"]}, "of the kind None"),
        ({"model": "gpt2", "pre": "falcon", "tokens": ["a"]}, "pre-tokenizer is 'falcon'"),
        ({"model": "gpt2", "tokens": ["a"]}, "pre-tokenizer is 'default'"),
        ({"model": "llama", "tokens": ["a"]}, "no score for each"),
        ({"model": "gpt2", "tokens": ["a"], "token_type": np.array([1, 1])}, "types of 2"),
        ({"model": "gpt2", "tokens": ["a"], "token_type": np.array([9])}, "9 is not a valid"),
        (
            {
                "model": "llama",
                "tokens": ["a"],
                "scores": np.array([0], np.float32),
                "unknown_token_id": 7,
            },
            "unknown token is 7",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(keys: dict[str, object], said: str, tmp_path: Path) -> None:
    values = {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    write_vocabulary(tmp_path / "v.gguf", values)  # type: ignore[arg-type]
    with pytest.raises(ExportError) as raised:
        restore(tmp_path / "v.gguf")
    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["/../../x", "../x", ".x", "a/b", "a\0b"])
def test_a_template_is_no_path(name: str, tmp_path: Path) -> None:
    checkpoint = folder(tmp_path, tokenizer=byte_level(), tokenizer_config={"eos_token": CONTROL})
    keys = dict(tokenizer_metadata(checkpoint, 500).keys)
    write_vocabulary(tmp_path / "v.gguf", keys | {f"tokenizer.chat_template.{name}": "x"})
    with pytest.raises(ExportError, match="cannot be a file's name"):
        restore(tmp_path / "v.gguf")
