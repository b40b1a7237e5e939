"""What llama.cpp does otherwise: each point is real, and nothing beside it differs."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.tokenizers import (
    CONTROL,
    byte_level,
    export_vocabulary,
    folder,
    rows_of,
    sentencepiece_json,
    write_vocabulary,
)
from tokenizers import Tokenizer

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated.call import call
from hubserve_exporters.vocab.added_tokens import AddedToken
from hubserve_exporters.vocab.compare import compare_tokenizers
from hubserve_exporters.vocab.metadata import tokenizer_metadata
from hubserve_exporters.vocab.runtime import as_run, prefixes_space
from hubserve_exporters.vocab.stripping import fitting_name, strips_space

METASPACE = {"type": "Metaspace", "replacement": "\u2581", "split": False}


def both(checkpoint: Checkpoint, file: Path, text: str) -> tuple[list[int], list[int]]:
    """The tokens of the original as it stands, and those of llama.cpp."""
    answer = call("tokenizing", {"path": str(file), "texts": [text], "framed": []}, doing="a test")
    original = Tokenizer.from_file(str(checkpoint.folder / "tokenizer.json"))
    return original.encode(text, add_special_tokens=False).ids, answer["tokens"][0]


def test_characters_are_not_composed(tmp_path: Path) -> None:
    tokenizer = byte_level(normalizer={"type": "NFC"})
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config={"eos_token": CONTROL})
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, rows_of(tokenizer))
    assert ["composes them first (NFC)" in warning for warning in found.warnings] == [True]
    assert compare_tokenizers(file, checkpoint) == []
    original, run = both(checkpoint, file, "e\u0301")
    assert original != run


@pytest.mark.parametrize("flag", ["lstrip", "rstrip"])
def test_white_space_beside_special_tokens_is_kept(flag: str, tmp_path: Path) -> None:
    tokenizer = byte_level(control={flag: True})
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config={"eos_token": CONTROL})
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, rows_of(tokenizer))
    assert [f"drops it beside {CONTROL!r}" in warning for warning in found.warnings] == [True]
    assert compare_tokenizers(file, checkpoint) == []
    original, run = both(checkpoint, file, f"a  {CONTROL}  b")
    assert original != run


@pytest.mark.parametrize("scheme", ["first", "always"])
def test_a_space_is_put_after_every_special_token(scheme: str, tmp_path: Path) -> None:
    tokenizer = sentencepiece_json()
    tokenizer["normalizer"] = None
    tokenizer["pre_tokenizer"] = {**METASPACE, "prepend_scheme": scheme}
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config={"eos_token": "</s>"})
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, 420)
    assert ["puts a space before the text" in warning for warning in found.warnings] == [True]
    assert compare_tokenizers(file, checkpoint) == []
    text = "</s>the" if scheme == "first" else " the"
    original, run = both(checkpoint, file, text)
    assert original != run


def test_spaces_are_put_first_or_not_as_the_file_says() -> None:
    prepend = {"type": "Prepend", "prepend": "\u2581"}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    split = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    two = {"type": "Sequence", "normalizers": [prepend, replace]}
    assert prefixes_space({"normalizer": two})
    assert not prefixes_space({"normalizer": replace, "pre_tokenizer": split})
    assert not prefixes_space({"pre_tokenizer": {**METASPACE, "prepend_scheme": "never"}})
    assert prefixes_space({"pre_tokenizer": METASPACE})


@pytest.mark.parametrize(
    "tokenizer",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"normalizer": None, "pre_tokenizer": None},
        {"pre_tokenizer": {**METASPACE, "replacement": "_"}},
        {"pre_tokenizer": {**METASPACE, "prepend_scheme": "sometimes"}},
        {"normalizer": {"type": "NFKC"}, "pre_tokenizer": METASPACE},
        {"normalizer": "NFC"},
    ],
)
def test_text_changed_in_another_way_is_refused(tokenizer: dict[str, Any]) -> None:
    with pytest.raises(ExportError, match="changes text before it looks for pieces"):
        as_run({**tokenizer, "model": {"byte_fallback": True}}, [])


def test_another_normalizer_of_bytes_is_refused() -> None:
    with pytest.raises(ExportError, match="by the normalizer 'Lowercase'"):
        as_run({"normalizer": {"type": "Lowercase"}, "model": {}}, [])


PHI = [
    AddedToken(id=id, text=text, special=True, rstrip=text not in ("<unk>", "<s>", "<|endoftext|>"))
    for id, text in enumerate(("<unk>", "<s>", "</s>", "<|endoftext|>", "<|user|>"))
]


def test_phi_3_is_known_by_how_it_strips() -> None:
    assert strips_space(PHI)
    assert not strips_space(PHI[:-2])
    assert not strips_space([AddedToken(id=0, text="<s>", rstrip=True)])


def test_a_name_makes_llama_cpp_strip_or_not() -> None:
    assert fitting_name("Phi-3-mini", strips=True) == "Phi-3-mini"
    assert fitting_name("my-tune", strips=True) == "my-tune (Phi-3)"
    assert fitting_name("better-than-phi3-and-PHI-3", strips=False) == "better-than-phi 3-and-PHI 3"
    assert fitting_name("Phi-4", strips=False) == "Phi-4"


@pytest.mark.parametrize("name", ["a tune of mine", "Phi-3 mini"])
def test_phi_3_strips_in_llama_cpp_only_by_its_name(name: str, tmp_path: Path) -> None:
    tokenizer = byte_level()
    size = rows_of(tokenizer)
    tokenizer["added_tokens"] += [
        {"id": size + i, "content": text, "special": True, "rstrip": rstrip}
        | {"lstrip": False, "single_word": False, "normalized": False}
        for i, (text, rstrip) in enumerate(
            [("<unk>", False), ("<s>", False), ("<|endoftext|>", False), ("</s>", True)]
        )
    ]
    for token in tokenizer["added_tokens"][:2]:
        token["rstrip"] = True
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config={"eos_token": CONTROL})
    found = tokenizer_metadata(checkpoint, rows_of(tokenizer))
    assert (found.strips_space, found.warnings) == (True, ())
    for given, differences in ((found.model_name(name), False), ("a tune of mine", True)):
        write_vocabulary(tmp_path / "v.gguf", found.keys, name=given)
        assert bool(compare_tokenizers(tmp_path / "v.gguf", checkpoint)) is differences


def test_what_was_cut_or_filled_up_is_left_alone() -> None:
    files = {"model": {}, "truncation": {"max_length": 3}, "padding": {"pad_id": 0}}
    run, notes = as_run(files, [])
    assert (run["truncation"], run["padding"], notes) == (None, None, [])
