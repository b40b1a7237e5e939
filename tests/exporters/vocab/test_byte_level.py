"""Byte-level BPE out of tokenizer.json."""

from typing import Any

import pytest
from tests.support.tokenizers import byte_level

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.byte_level import merge_pairs, read_byte_level
from hubserve_exporters.vocab.sentencepiece_model import PieceType


def tokenizer(**model: Any) -> dict[str, Any]:
    made = byte_level()
    return {**made, "model": {**made["model"], **model}}


def test_merges_come_in_order_whether_they_are_texts_or_pairs() -> None:
    pairs = [["a", "b"], ["ab", "\u0120c"]]
    for merges in (pairs, ["a b", "ab \u0120c"]):
        assert read_byte_level(tokenizer(merges=merges)).merges == ["a b", "ab \u0120c"]


def test_a_space_inside_a_part_is_escaped() -> None:
    assert read_byte_level(tokenizer(merges=[["a b", " "]])).merges == ["a\u0120b \u0120"]


@pytest.mark.parametrize("merge", ["ab", "a b c", "", ["a"], ["a", ""], [1, 2], 7, None])
def test_a_merge_of_another_form_is_refused(merge: object) -> None:
    with pytest.raises(ExportError, match="is not of two parts"):
        merge_pairs({"merges": [merge]})


def test_no_merges_are_refused() -> None:
    with pytest.raises(ExportError, match=r"tokenizer\.json has no merges"):
        read_byte_level(tokenizer(merges=[]))


@pytest.mark.parametrize(
    ("vocab", "said"),
    [
        (["a"], "is not an object"),
        ({"a": "0"}, "has an id that is no number"),
        ({"a": -1}, "has an id that is no number"),
        ({"a": True}, "has an id that is no number"),
        ({"a": 2**40}, "has an id that is no number"),
        ({"a": 0, "b": 0}, "gives an id to two tokens"),
    ],
)
def test_ids_that_are_none_are_refused(vocab: object, said: str) -> None:
    with pytest.raises(ExportError, match=said):
        read_byte_level(tokenizer(vocab=vocab))


def test_a_hole_in_the_ids_stays_one() -> None:
    vocabulary = read_byte_level(tokenizer(vocab={"a": 0, "b": 2}))
    assert vocabulary.tokens == ["a", None, "b"]
    assert vocabulary.types[1] is PieceType.UNUSED
