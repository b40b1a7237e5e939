"""tokenizer.model, read and written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tests.support.tokenizers import sentencepiece_model

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.sentencepiece_model import (
    ModelType,
    Piece,
    PieceType,
    SentencePieceModel,
    build_model,
    parse_model,
)

_SCORES = st.floats(width=32, allow_nan=False)
_PIECES = st.lists(
    st.builds(Piece, st.text(max_size=9), _SCORES, st.sampled_from(PieceType)), min_size=1
)
_IDS = st.integers(-1, 2**31 - 1)
_MODELS = st.builds(
    SentencePieceModel,
    pieces=_PIECES.map(tuple),
    model_type=st.sampled_from(ModelType),
    byte_fallback=st.booleans(),
    unknown_id=_IDS,
    bos_id=_IDS,
    eos_id=_IDS,
    pad_id=_IDS,
    normalizer=st.text(max_size=9),
    charsmap=st.binary(max_size=300),
    add_dummy_prefix=st.booleans(),
    remove_extra_whitespaces=st.booleans(),
    escape_whitespaces=st.booleans(),
)


def load(data: bytes) -> Any:
    processor: Any = SentencePieceProcessor()
    processor.LoadFromSerializedProto(data)
    return processor


def test_pieces_are_those_that_the_library_finds() -> None:
    data = sentencepiece_model("\u2581\u2581", "[x]")
    model, processor = parse_model(data), load(data)
    assert len(model.pieces) == processor.GetPieceSize()
    for id, piece in enumerate(model.pieces):
        assert (piece.text, piece.score) == (processor.IdToPiece(id), processor.GetScore(id))
        assert (piece.type is PieceType.CONTROL) == processor.IsControl(id)
        assert (piece.type is PieceType.BYTE) == processor.IsByte(id)
        assert (piece.type is PieceType.UNKNOWN) == processor.IsUnknown(id)
    user = [piece.text for piece in model.pieces if piece.type is PieceType.USER_DEFINED]
    assert user == ["\u2581\u2581", "[x]"]
    assert (model.model_type, model.byte_fallback) == (ModelType.BPE, True)
    assert (model.unknown_id, model.bos_id, model.eos_id, model.pad_id) == (0, 1, 2, -1)
    assert (model.normalizer, model.charsmap) == ("identity", b"")
    assert (model.add_dummy_prefix, model.remove_extra_whitespaces) == (True, False)


def test_the_library_loads_what_is_written_and_finds_the_same_tokens() -> None:
    written = load(build_model(parse_model(sentencepiece_model())))
    original = load(sentencepiece_model())
    for text in ("  The man  and the other line", "x[x] 漢字 🙂\n"):
        assert written.EncodeAsIds(text) == original.EncodeAsIds(text)


@given(_MODELS)
def test_what_is_written_is_read_as_it_was(model: SentencePieceModel) -> None:
    assert parse_model(build_model(model)) == model


@given(_MODELS, st.binary(max_size=20))
def test_fields_that_are_not_known_are_skipped(model: SentencePieceModel, junk: bytes) -> None:
    unknown = b"\xa2\x06" + bytes([len(junk)]) + junk  # field 100, bytes
    unknown += b"\xa8\x06\x96\x01" + b"\xb1\x06" + bytes(8) + b"\xbd\x06" + bytes(4)
    assert parse_model(unknown + build_model(model) + unknown) == model


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_there_is_an_answer_or_the_one_error(data: bytes) -> None:
    try:
        parse_model(data)
    except ExportError as error:
        assert "tokenizer.model is not a SentencePiece model" in str(error)


def test_a_model_cut_at_any_byte_is_the_one_error_or_has_fewer_pieces() -> None:
    data = sentencepiece_model()
    for end in range(0, len(data), 7):
        try:
            assert len(parse_model(data[:end]).pieces) <= 420
        except ExportError:
            continue


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it holds no pieces"),
        (b"\x0a\x7fabc", "a field of 127 bytes at byte 2 of 5"),
        (b"\x0a" + b"\xff" * 11, "has no end"),
        (b"\x0b\x00", "the wire type 3"),
        (b"\x02\x00", "the number 0"),
        (b"\x0a\x03\x0a\x01a\x12\x02\x18\x09", "9 is not a valid ModelType"),
        (b"\x0a\x02\x18\x09", "9 is not a valid PieceType"),
        (b"\x0a\x02\x08\x01", "the field 1 is not a text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "not a SentencePiece model"),
        (b"IQ== 0\nIg== 1\nIw== 2\n", "not a SentencePiece model"),
    ],
)
def test_a_fault_is_named(data: bytes, said: str) -> None:
    with pytest.raises(ExportError, match="not a SentencePiece model") as raised:
        parse_model(data)
    assert said in str(raised.value)
