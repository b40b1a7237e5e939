"""Tokens, added tokens and padding put together."""

import numpy as np
import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.added_tokens import AddedToken
from hubserve_exporters.vocab.sentencepiece_model import PieceType
from hubserve_exporters.vocab.vocabulary import Vocabulary


def pieces(*texts: str) -> Vocabulary:
    return Vocabulary(
        model="llama",
        pre="default",
        tokens=list(texts),
        types=[PieceType.NORMAL] * len(texts),
        scores=[-float(id) for id in range(len(texts))],
    )


def test_added_tokens_come_by_id_and_then_the_padding() -> None:
    vocabulary = pieces("a", "b")
    added = [AddedToken(id=4, text="<tag>"), AddedToken(id=2, text="<end>", special=True)]
    vocabulary.complete(added, rows=6)
    assert vocabulary.tokens == ["a", "b", "<end>", "[PAD3]", "<tag>", "[PAD5]"]
    assert [type.name for type in vocabulary.types] == [
        *("NORMAL", "NORMAL", "CONTROL", "UNUSED", "USER_DEFINED", "UNUSED")
    ]
    assert vocabulary.scores == [0, -1, -1000, -10000, -1000, -10000]


def test_a_token_that_is_there_keeps_its_text_and_score() -> None:
    vocabulary = pieces("<unk>", "<0x00>", "<end>")
    vocabulary.types[:2] = [PieceType.UNKNOWN, PieceType.BYTE]
    texts = enumerate(("<unk>", "<0x00>", "<end>"))
    vocabulary.complete([AddedToken(id=id, text=t, special=True) for id, t in texts], rows=3)
    assert vocabulary.types == [PieceType.UNKNOWN, PieceType.BYTE, PieceType.CONTROL]
    assert vocabulary.scores == [0, -1, -2]
    assert vocabulary.warnings == []


def test_another_text_for_an_id_is_taken_and_told() -> None:
    vocabulary = pieces("a", "<unused0>")
    vocabulary.complete([AddedToken(id=1, text="<tool>", special=True)], rows=2)
    assert vocabulary.tokens == ["a", "<tool>"]
    assert vocabulary.warnings == [
        "The token 1 is '<unused0>' in the vocabulary, and '<tool>' among the added tokens, which"
        " is taken."
    ]


def test_spaces_in_tokens_that_are_looked_for_in_text_are_spaces() -> None:
    vocabulary = pieces("a", "\u2581\u2581")
    vocabulary.complete([AddedToken(id=1, text="\u2581\u2581")], rows=2)
    assert (vocabulary.tokens, vocabulary.warnings) == (["a", "  "], [])


def test_more_tokens_than_rows_are_refused_with_both_numbers() -> None:
    with pytest.raises(ExportError, match="has 3 tokens, and the embedding 2 rows"):
        pieces("a", "b", "c").complete([], rows=2)
    with pytest.raises(ExportError, match="has 2000000001 tokens, and the embedding 2 rows"):
        pieces("a").complete([AddedToken(id=2 * 10**9, text="x")], rows=2)


def test_a_text_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ExportError, match="The tokens 0 and 1 are both 'a'"):
        pieces("a", "b").complete([AddedToken(id=1, text="a")], rows=2)


def test_padding_takes_no_text_that_is_there() -> None:
    vocabulary = pieces("[PAD1]")
    vocabulary.complete([], rows=2)
    assert vocabulary.tokens == ["[PAD1]", "[[PAD1]]"]


def test_a_nul_is_refused_as_llama_cpp_ends_a_text_there() -> None:
    with pytest.raises(ExportError, match=r"token 0 \('a\\x00b'\) has a NUL"):
        pieces("a\0b").complete([], rows=1)


def test_keys_have_the_types_that_llama_cpp_wants() -> None:
    vocabulary = pieces("a")
    vocabulary.settings["add_space_prefix"] = True
    vocabulary.complete([], rows=2)
    keys = vocabulary.metadata()
    types, scores = keys["tokenizer.ggml.token_type"], keys["tokenizer.ggml.scores"]
    assert isinstance(types, np.ndarray) and types.dtype == np.int32
    assert isinstance(scores, np.ndarray) and scores.dtype == np.float32
    assert keys["tokenizer.ggml.tokens"] == ["a", "[PAD1]"]
    assert keys["tokenizer.ggml.add_space_prefix"] is True
    assert "tokenizer.ggml.merges" not in keys
