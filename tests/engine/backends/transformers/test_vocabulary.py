"""Texts, tokens and bytes, with bytes as characters and as SentencePiece has them."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.checkpoints import CONTROL, TAGS, checkpoint
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hubserve_engine.backends.transformers.vocabulary import Vocabulary

WORDS = ("▁the", "▁man", "an", "d", "é", "▁")


@pytest.fixture(scope="module")
def by_level() -> Vocabulary:
    return Vocabulary(AutoTokenizer.from_pretrained(checkpoint("llama")))


@pytest.fixture(scope="module")
def pieces() -> Vocabulary:
    """As Llama 2 and Gemma have it: spaces are "▁", and unknown characters are bytes."""
    tokens = ["<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    plain = Tokenizer(
        models.BPE({token: number for number, token in enumerate(tokens)}, [], byte_fallback=True)
    )
    plain.normalizer = normalizers.Replace(" ", "▁")
    plain.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    plain.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    return Vocabulary(
        PreTrainedTokenizerFast(tokenizer_object=plain, bos_token="<s>", eos_token="</s>")
    )


def bytes_of(vocabulary: Vocabulary, tokens: Iterable[int]) -> bytes:
    return b"".join(vocabulary.piece(token, special=True) for token in tokens)


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_comes_back(by_level: Vocabulary, pieces: Vocabulary, text: str) -> None:
    for vocabulary in (by_level, pieces):
        for parse in (True, False):
            if "▁" in text and vocabulary is pieces:
                continue  # it cannot be told from a space there
            tokens = vocabulary.tokenize(text, add_special=False, parse_special=parse)
            assert bytes_of(vocabulary, tokens) == text.encode("utf-8", "replace")


def test_half_a_character_is_its_bytes(pieces: Vocabulary) -> None:
    tokens = pieces.tokenize("ü", add_special=False, parse_special=True)
    assert [pieces.piece(token) for token in tokens] == [b"\xc3", b"\xbc"]


def test_a_space_is_part_of_its_piece(pieces: Vocabulary) -> None:
    token = pieces.token("▁the")
    assert token is not None and pieces.piece(token) == b" the"


def test_special_texts_are_tokens_only_where_asked(by_level: Vocabulary) -> None:
    (end,) = by_level.tokenize("<|im_end|>", add_special=False, parse_special=True)
    assert by_level.token("<|im_end|>") == end
    plain = by_level.tokenize("a<|im_end|>", add_special=False, parse_special=False)
    assert end not in plain and bytes_of(by_level, plain) == b"a<|im_end|>"


def test_control_tokens_are_silent_and_tags_are_not(by_level: Vocabulary) -> None:
    for text in (*CONTROL, *TAGS):
        token = by_level.token(text)
        assert token is not None
        assert by_level.piece(token) == (b"" if text in CONTROL else text.encode())
        assert by_level.piece(token, special=True) == text.encode()
    assert by_level.special_tokens == {*CONTROL, *TAGS}


def test_a_number_without_a_token_is_no_text(by_level: Vocabulary) -> None:
    assert by_level.piece(by_level.size + 3) == b""


def test_no_piece_is_longer_than_the_longest(by_level: Vocabulary, pieces: Vocabulary) -> None:
    assert by_level.longest_piece == len("<|endoftext|>")
    assert pieces.longest_piece == len(" the")


def test_of_several_templates_the_usual_one_is_taken() -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint("llama"))
    tokenizer.chat_template = {"default": "usual", "tool_use": "other"}
    assert Vocabulary(tokenizer).chat_template == "usual"
