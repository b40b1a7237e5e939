"""A SentencePiece model (`tokenizer.model`): a protocol buffer, read and written by hand.

The sentencepiece package gives pieces and scores, but neither the settings beside them nor a way to
write a model, without the protobuf package; and it parses in C++ what a stranger has made. The four
wire types are few lines. Fields: sentencepiece's src/sentencepiece_model.proto (0.2). Fields that
are not known are skipped, as the format wants.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from struct import Struct, pack

from hubserve_exporters.errors import ExportError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FLOAT = Struct("<f")
_MAX_VARINT_BYTES = 10


class PieceType(IntEnum):
    """What a piece is. llama.cpp's `enum llama_token_type` has the same numbers."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class ModelType(IntEnum):
    """How a model cuts text into its pieces."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece; a space in it is U+2581."""

    text: str
    score: float = 0.0
    type: PieceType = PieceType.NORMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceModel:
    """Pieces by id, and the settings that change tokens. An id that is -1 is "none"."""

    pieces: tuple[Piece, ...] = field(repr=False)
    model_type: ModelType = ModelType.UNIGRAM
    byte_fallback: bool = False
    unknown_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    pad_id: int = -1
    normalizer: str = ""
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


def parse_model(data: bytes) -> SentencePieceModel:
    """Raises ExportError where `data` is not such a model, or is cut short."""
    pieces: list[Piece] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    try:
        for number, value in _fields(data):
            if number == 1 and isinstance(value, bytes):
                pieces.append(_parse_piece(value))
            elif number == 2 and isinstance(value, bytes):
                trainer |= _fields(value)
            elif number == 3 and isinstance(value, bytes):
                normalizer |= _fields(value)
        if not pieces:
            raise ValueError("it holds no pieces")
        return SentencePieceModel(
            pieces=tuple(pieces),
            model_type=ModelType(_int(trainer, 3, ModelType.UNIGRAM)),
            byte_fallback=bool(_int(trainer, 35, 0)),
            unknown_id=_int(trainer, 40, 0),
            bos_id=_int(trainer, 41, 1),
            eos_id=_int(trainer, 42, 2),
            pad_id=_int(trainer, 43, -1),
            normalizer=_bytes(normalizer, 1).decode(),
            charsmap=_bytes(normalizer, 2),
            add_dummy_prefix=bool(_int(normalizer, 3, 1)),
            remove_extra_whitespaces=bool(_int(normalizer, 4, 1)),
            escape_whitespaces=bool(_int(normalizer, 5, 1)),
        )
    except ValueError as error:
        raise ExportError(f"tokenizer.model is not a SentencePiece model: {error}.") from None


def build_model(model: SentencePieceModel) -> bytes:
    """The file that `parse_model` reads as `model`, and that the sentencepiece package loads."""
    trainer = b"".join(
        _put_int(number, value)
        for number, value in (
            (3, model.model_type),
            (4, len(model.pieces)),
            (35, int(model.byte_fallback)),
            (40, model.unknown_id),
            (41, model.bos_id),
            (42, model.eos_id),
            (43, model.pad_id),
        )
    )
    normalizer = _put_bytes(1, model.normalizer.encode()) + _put_bytes(2, model.charsmap)
    for number, flag in (
        (3, model.add_dummy_prefix),
        (4, model.remove_extra_whitespaces),
        (5, model.escape_whitespaces),
    ):
        normalizer += _put_int(number, int(flag))
    pieces = (
        _put_bytes(1, piece.text.encode("utf-8", "surrogateescape"))
        + _put_varint(2 << 3 | _FIXED32)
        + pack("<f", piece.score)
        + _put_int(3, piece.type)
        for piece in model.pieces
    )
    return (
        b"".join(_put_bytes(1, piece) for piece in pieces)
        + _put_bytes(2, trainer)
        + _put_bytes(3, normalizer)
    )


def _parse_piece(data: bytes) -> Piece:
    values = dict(_fields(data))
    score = values.get(2, 0.0)
    return Piece(
        _bytes(values, 1).decode("utf-8", "surrogateescape"),
        _FLOAT.unpack(score)[0] if isinstance(score, bytes) else 0.0,
        PieceType(_int(values, 3, PieceType.NORMAL)),
    )


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of a message's fields, in order; numbers of fixed width are bytes."""
    position = 0
    while position < len(data):
        # Nearly all tags and sizes are of one byte, and there are a million in a model.
        tag = data[position]
        position += 1
        if tag > 0x7F:
            tag, position = _varint(data, position - 1)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise ValueError(f"a field at byte {position} has the number 0")
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"the wire type {wire} at byte {position} is not known")
        end = position + size
        if end > len(data):
            raise ValueError(f"a field of {size} bytes at byte {position} of {len(data)}")
        yield number, data[position:end]
        position = end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(min(_MAX_VARINT_BYTES, len(data) - position)):
        byte = data[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & (2**64 - 1), position + index + 1
    raise ValueError(f"a number at byte {position} has no end")


def _int(values: dict[int, int | bytes], number: int, default: int) -> int:
    """An int32 or bool: negative ones are written as 64 bits."""
    value = values.get(number, default)
    if isinstance(value, bytes):
        raise ValueError(f"the field {number} is not a number")
    return value - 2**64 if value >= 2**63 else value


def _bytes(values: dict[int, int | bytes], number: int) -> bytes:
    value = values.get(number, b"")
    if isinstance(value, int):
        raise ValueError(f"the field {number} is not a text")
    return value


def _put_varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _put_int(number: int, value: int) -> bytes:
    return _put_varint(number << 3 | _VARINT) + _put_varint(value)


def _put_bytes(number: int, value: bytes) -> bytes:
    return _put_varint(number << 3 | _BYTES) + _put_varint(len(value)) + value
