"""Which pre-tokenizer of llama.cpp is named, and that it splits as the patterns say."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.tokenizers import byte_level, export_vocabulary, folder, rows_of

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.compare import compare_tokenizers
from hubserve_exporters.vocab.patterns import GPT2, NAMES, SAME, SPLITTINGS
from hubserve_exporters.vocab.pre_tokenizer import check_name, find_pre_tokenizer

END = {"eos_token": "<|end|>"}


USUAL = ("gpt-2", "smollm", "llama-bpe", "dbrx", "qwen2", "qwen35", "tekken", "gpt-4o")
"""What the architectures that can be exported have; the others take their time elsewhere."""


@pytest.mark.parametrize(
    "name",
    [
        *USUAL,
        *(pytest.param(n, marks=pytest.mark.long) for n in SPLITTINGS if n not in USUAL),
    ],
)
def test_llama_cpp_splits_as_the_patterns_of_each_name_say(name: str, tmp_path: Path) -> None:
    splitting = SPLITTINGS[name]
    tokenizer = byte_level(splitting.patterns, ignore_merges=splitting.ignore_merges)
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config=END)
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, rows_of(tokenizer))
    assert found.keys["tokenizer.ggml.pre"] == name
    assert compare_tokenizers(file, checkpoint) == []


@pytest.mark.parametrize("name", ["falcon", "bloom", "default"])
def test_another_name_is_found_out(name: str, tmp_path: Path) -> None:
    tokenizer = byte_level()
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config=END)
    file = tmp_path / "v.gguf"
    if name == "default":
        with pytest.raises(ExportError, match="has no pre-tokenizer 'default'"):
            export_vocabulary(checkpoint, file, rows_of(tokenizer), pre=name)
        return
    export_vocabulary(checkpoint, file, rows_of(tokenizer), pre=name)
    assert compare_tokenizers(file, checkpoint)


def steps(*pre_tokenizers: dict[str, Any], **model: object) -> dict[str, Any]:
    return {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(pre_tokenizers)},
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], **model},
    }


def split(regex: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    pattern = {"Regex": regex}
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
PLAIN = {**BYTES, "use_regex": False}
QWEN2 = SPLITTINGS["qwen2"].patterns[0]


def test_a_pre_tokenizer_is_known_in_each_way_to_write_it() -> None:
    digits = {"type": "Digits", "individual_digits": True}
    assert find_pre_tokenizer({"pre_tokenizer": BYTES, "model": {}}) == "gpt-2"
    assert find_pre_tokenizer(steps(split(GPT2), PLAIN)) == "gpt-2"
    assert find_pre_tokenizer(steps(digits, {**BYTES, "use_regex": True})) == "smollm"
    assert find_pre_tokenizer(steps(split(r"\p{N}"), BYTES)) == "smollm"
    assert find_pre_tokenizer(steps(split(QWEN2, "Removed", invert=True), PLAIN)) == "qwen2"
    inner = {"type": "Sequence", "pretokenizers": [split(QWEN2)]}
    assert find_pre_tokenizer(steps(inner, PLAIN)) == "qwen2"
    written_out = [
        p.replace(r"\r", "\r").replace(r"\n", "\n") for p in SPLITTINGS["deepseek-v3"].patterns
    ]
    assert find_pre_tokenizer(steps(*map(split, written_out), PLAIN)) == "deepseek-v3"


def test_tokens_taken_whole_are_told_from_merged_ones() -> None:
    llama3 = SPLITTINGS["llama-bpe"].patterns[0]
    unmade = {"vocab": {"a": 0, "b": 1, "ab": 2}}
    assert find_pre_tokenizer(steps(split(llama3), PLAIN, ignore_merges=True)) == "llama-bpe"
    assert find_pre_tokenizer(steps(split(llama3), PLAIN)) == "dbrx"
    made = {**unmade, "merges": ["a b"], "ignore_merges": True}
    assert find_pre_tokenizer(steps(split(QWEN2), PLAIN, **made)) == "qwen2"
    with pytest.raises(ExportError, match="with ignore_merges"):
        find_pre_tokenizer(steps(split(QWEN2), PLAIN, ignore_merges=True, **unmade))


@pytest.mark.parametrize(
    "tokenizer",
    [
        steps(split(r"\w+"), PLAIN),
        steps(split(QWEN2, "MergedWithNext"), PLAIN),
        steps(split(QWEN2)),
        steps({"type": "Whitespace"}, PLAIN),
        steps(split(QWEN2), {**PLAIN, "add_prefix_space": True}),
        steps({"type": "Digits", "individual_digits": False}, BYTES),
        {"pre_tokenizer": None, "model": {}},
        {"pre_tokenizer": {"type": "Metaspace"}, "model": {}},
    ],
)
def test_what_is_not_known_is_refused_and_shown_and_never_guessed(
    tokenizer: dict[str, Any],
) -> None:
    with pytest.raises(ExportError, match=r"sha256 [0-9a-f]{16}.*name it with --pre") as raised:
        find_pre_tokenizer(tokenizer)
    kind = tokenizer["pre_tokenizer"]
    assert kind is None or str(kind["type"]) in str(raised.value)


def test_a_name_is_taken_if_llama_cpp_has_it() -> None:
    assert check_name("falcon") == "falcon"
    with pytest.raises(ExportError, match="no pre-tokenizer 'llama-bep'; did you mean llama-bpe"):
        check_name("llama-bep")


def test_a_name_stands_for_one_way_to_split() -> None:
    assert SAME.keys().isdisjoint(SPLITTINGS)
    assert set(SAME.values()) <= SPLITTINGS.keys() <= NAMES
