"""What is put around a text."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.tokenizers import CONTROL, byte_level, folder, put_first, rows_of

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.files import TokenizerFiles
from hubserve_exporters.vocab.framing import framing
from hubserve_exporters.vocab.metadata import tokenizer_metadata

IDS = {"bos_token_id": 1, "eos_token_id": 2}
NEITHER = {"add_bos_token": False, "add_eos_token": False}
A = {"Sequence": {"id": "A", "type_id": 0}}


def template(*parts: int | None) -> dict[str, Any]:
    """A post_processor with these ids around the text, which is None."""
    return {
        "type": "TemplateProcessing",
        "single": [A if id is None else {"SpecialToken": {"id": str(id)}} for id in parts],
        "special_tokens": {str(id): {"ids": [id]} for id in parts if id is not None},
    }


def frame(
    processor: object, ids: dict[str, int] | None = None, **config: object
) -> tuple[dict[str, bool], list[str]]:
    warnings: list[str] = []
    files = TokenizerFiles(tokenizer={"post_processor": processor}, tokenizer_config=config)
    return framing(files, IDS if ids is None else ids, warnings), warnings


def test_tokenizer_json_says_what_is_put_around_a_text() -> None:
    bytes_ = {"type": "ByteLevel"}
    assert frame(template(1, None)) == ({"add_bos_token": True, "add_eos_token": False}, [])
    assert frame(template(None, 2)) == ({"add_bos_token": False, "add_eos_token": True}, [])
    inside = {"type": "Sequence", "processors": [bytes_, template(1, None, 2)]}
    assert frame(inside) == ({"add_bos_token": True, "add_eos_token": True}, [])
    assert frame(bytes_) == frame(None) == (NEITHER, [])


def test_a_flag_that_says_otherwise_does_not_count_and_is_told() -> None:
    assert frame(template(1, None), add_bos_token=True, add_eos_token=False)[1] == []
    assert frame(None, add_bos_token=None, add_eos_token="no") == (NEITHER, [])
    assert frame(None, add_bos_token=True) == (
        NEITHER,
        [
            "tokenizer_config.json has add_bos_token true, and tokenizer.json does otherwise: the"
            " latter counts, as in transformers."
        ],
    )
    keys, warnings = frame(template(1, None), add_bos_token=False)
    assert (keys["add_bos_token"], len(warnings)) == (True, 1)


@pytest.mark.parametrize("put", [True, False])
@pytest.mark.parametrize("flag", [True, False, None])
def test_that_is_what_transformers_does(put: bool, flag: bool | None, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = byte_level()
    end = rows_of(tokenizer) - 2
    tokenizer["post_processor"] = put_first(CONTROL, end) if put else None
    named = {"bos_token": CONTROL, "eos_token": CONTROL, "tokenizer_class": "LlamaTokenizerFast"}
    config = named if flag is None else {**named, "add_bos_token": flag}
    checkpoint = folder(tmp_path, tokenizer=tokenizer, tokenizer_config=config)
    keys = tokenizer_metadata(checkpoint, 500).keys
    ids = AutoTokenizer.from_pretrained(tmp_path)("a")["input_ids"]
    assert (ids[0] == end) is keys["tokenizer.ggml.add_bos_token"]


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert framing(TokenizerFiles(sentencepiece=b"x"), IDS, []) == {}
    flags = TokenizerFiles(sentencepiece=b"x", tokenizer_config={"add_eos_token": False})
    assert framing(flags, IDS, []) == {"add_eos_token": False}


def test_a_token_that_is_put_first_is_the_bos_token_if_there_is_no_other() -> None:
    ids = {"eos_token_id": 2}
    assert frame(template(7, None), ids)[0] == {"add_bos_token": True, "add_eos_token": False}
    assert ids == {"bos_token_id": 7, "eos_token_id": 2}


def test_other_tokens_around_a_text_are_refused() -> None:
    with pytest.raises(
        ExportError, match=r"puts the tokens \[7, 8\] before a text and \[\] behind"
    ):
        frame(template(7, 8, None))
    with pytest.raises(ExportError, match=r"before a text and \[9\] behind"):
        frame(template(1, None, 9))


def test_a_flag_for_a_token_that_has_no_name_is_refused() -> None:
    files = TokenizerFiles(sentencepiece=b"x", tokenizer_config={"add_bos_token": True})
    with pytest.raises(ExportError, match=r"add_bos_token is true.*set 'bos_token'"):
        framing(files, {"eos_token_id": 2}, [])


def test_a_damaged_template_is_refused() -> None:
    broken = {**template(1, None), "special_tokens": {"1": {"ids": ["1"]}}}
    with pytest.raises(ExportError, match="where a token has to be"):
        frame(broken)
