"""All keys of a tokenizer, from a checkpoint's folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.tokenizers import (
    CONTROL,
    TAG,
    byte_level,
    folder,
    rows_of,
    sentencepiece_json,
    sentencepiece_model,
)

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import encode_header
from hubserve_exporters.vocab.metadata import tokenizer_metadata

END = {"eos_token": CONTROL}
SIZE = rows_of(byte_level())


def test_a_byte_level_tokenizer_with_all_its_keys(tmp_path: Path) -> None:
    checkpoint = folder(
        tmp_path,
        tokenizer=byte_level(),
        tokenizer_config={**END, "pad_token": TAG, "chat_template": "old"},
        generation={"eos_token_id": [SIZE - 2, 65]},
    )
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates/tool_use.jinja").write_text("{{ tools }}")
    found = tokenizer_metadata(checkpoint, SIZE + 3)
    keys = dict(found.keys)
    tokens, types = keys.pop("tokenizer.ggml.tokens"), keys.pop("tokenizer.ggml.token_type")
    merges = keys.pop("tokenizer.ggml.merges")
    assert isinstance(tokens, list) and isinstance(merges, list) and len(merges) > 100
    assert tokens[SIZE - 2 :] == [
        CONTROL,
        TAG,
        f"[PAD{SIZE}]",
        f"[PAD{SIZE + 1}]",
        f"[PAD{SIZE + 2}]",
    ]
    assert list(types)[SIZE - 3 :] == [1, 3, 3, 5, 5, 5]  # type: ignore[arg-type]
    assert keys == {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.eos_token_id": SIZE - 2,
        "tokenizer.ggml.eot_token_id": 65,
        "tokenizer.ggml.padding_token_id": SIZE - 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.chat_template": "{{ messages }}",
        "tokenizer.chat_template.tool_use": "{{ tools }}",
        "tokenizer.chat_templates": ["tool_use"],
    }
    assert found.warnings == ()


def test_a_pre_tokenizer_that_is_named_is_taken(tmp_path: Path) -> None:
    tokenizer = byte_level([r"\w+|\W+"])
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config=END)
    with pytest.raises(ExportError, match="name it with --pre"):
        tokenizer_metadata(checkpoint, SIZE)
    assert tokenizer_metadata(checkpoint, SIZE, pre="falcon").keys["tokenizer.ggml.pre"] == "falcon"


def test_a_pre_tokenizer_for_pieces_is_refused(tmp_path: Path) -> None:
    checkpoint = folder(tmp_path, model=sentencepiece_model())
    with pytest.raises(ExportError, match=r"'gpt-2' was named.*leave --pre out"):
        tokenizer_metadata(checkpoint, 420, pre="gpt-2")


def test_a_tokenizer_model_of_another_kind_than_tokenizer_json_does_not_count(
    tmp_path: Path,
) -> None:
    checkpoint = folder(
        tmp_path, tokenizer=byte_level(), model=b"IQ== 0\nIg== 1\n", tokenizer_config=END
    )
    assert tokenizer_metadata(checkpoint, SIZE).keys["tokenizer.ggml.model"] == "gpt2"


def test_what_a_multimodal_checkpoint_says_of_its_text_counts(tmp_path: Path) -> None:
    config = {"eos_token_id": 3, "text_config": {"eos_token_id": 4}}
    checkpoint = folder(tmp_path, tokenizer=byte_level(), config=config)
    assert tokenizer_metadata(checkpoint, SIZE).keys["tokenizer.ggml.eos_token_id"] == 4


def test_a_suspicious_template_is_refused_where_that_is_wanted(tmp_path: Path) -> None:
    config = {**END, "chat_template": "{{ x.__class__ }}"}
    checkpoint = folder(tmp_path, tokenizer=byte_level(), tokenizer_config=config)
    assert len(tokenizer_metadata(checkpoint, SIZE).warnings) == 1
    with pytest.raises(ExportError, match="reaches for '__class__'"):
        tokenizer_metadata(checkpoint, SIZE, strict=True)


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    (
        None,
        True,
        -1,
        0,
        7,
        2**40,
        1.5,
        "",
        "x",
        "\ud800",
        "a\0",
        [],
        ["x"],
        [[]],
        [None],
        {},
        {"id": 0},
    )
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_the_files_say_there_are_keys_or_the_one_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    """One value anywhere in a sound file is something else."""
    name = data.draw(st.sampled_from(("tokenizer.json", "tokenizer_config.json")))
    pieces = data.draw(st.booleans())
    files: dict[str, Any] = {
        "tokenizer.json": sentencepiece_json()
        if pieces
        else byte_level(normalizer={"type": "NFC"}),
        "tokenizer_config.json": {
            **END,
            "additional_special_tokens": [TAG],
            "added_tokens_decoder": {str(SIZE - 1): {"content": TAG}},
            "chat_template": [{"name": "default", "template": "x"}],
            "add_bos_token": False,
        },
    }
    files["tokenizer.json"]["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": CONTROL}}, {"Sequence": {"id": "A"}}],
        "special_tokens": {CONTROL: {"id": CONTROL, "ids": [SIZE - 2]}},
    }
    place = files[name]
    while True:
        key = data.draw(
            st.sampled_from([*(place if isinstance(place, dict) else range(len(place)))])
        )
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(JUNK)
            break
        place = place[key]
    checkpoint = folder(
        tmp_path,
        tokenizer=files["tokenizer.json"],
        tokenizer_config=files["tokenizer_config.json"],
    )
    try:
        keys = tokenizer_metadata(checkpoint, SIZE).keys
    except ExportError:
        return
    encode_header(keys, [])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "neither tokenizer.json nor tokenizer.model"),
        ({"tokenizer.json": "{"}, "tokenizer.json is not JSON"),
        ({"tokenizer.json": "[" * 100000}, "tokenizer.json is not JSON"),
        ({"tokenizer.json": "[]"}, "tokenizer.json holds no object"),
        ({"tokenizer.json": "{}"}, "does not say what its model is"),
        ({"tokenizer.json": {"model": {"type": "Unigram"}}}, "of the type 'Unigram'"),
        ({"tokenizer.json": {"model": {"type": "BPE"}}}, "'model.vocab' is not an object"),
        ({"tokenizer_config.json": {"chat_template": 7}}, "neither a text nor a list"),
        ({"tokenizer_config.json": {"chat_template": [{}]}}, "has the entry {}"),
        ({"tokenizer_config.json": "nul"}, "tokenizer_config.json is not JSON"),
        ({"tokenizer.model": "x" * (2**25 + 1)}, "tokenizer.model has 33554433 bytes"),
        ({"chat_template.jinja": "{{ x }}" * 200000}, "chat template 'default' has 1400000"),
    ],
)
def test_damaged_files_are_an_error_that_names_them(
    files: dict[str, Any], said: str, tmp_path: Path
) -> None:
    needed = files and "tokenizer.json" not in files
    checkpoint = folder(tmp_path, tokenizer=byte_level() if needed else None, tokenizer_config=END)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text)
    with pytest.raises(ExportError) as raised:
        tokenizer_metadata(checkpoint, SIZE)
    assert said in str(raised.value)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    checkpoint = folder(tmp_path / "c", tokenizer=byte_level(), tokenizer_config=END)
    (tmp_path / "c/special_tokens_map.json").symlink_to(tmp_path / "secret")
    with pytest.raises(ExportError, match=r"special_tokens_map\.json is a link to"):
        tokenizer_metadata(checkpoint, SIZE)
