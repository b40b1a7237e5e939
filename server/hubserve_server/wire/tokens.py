"""`/tokenize`, `/detokenize` and `/apply-template`, shaped as llama-server's."""

from typing import Annotated, Any

import msgspec
from pydantic import PlainValidator

from hubserve_engine.config import LONGEST_TEXT
from hubserve_server.wire.fields import Flag, Wire, wrong
from hubserve_server.wire.sampling import MAX_INT32

MAX_TEXTS = 256


def is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT32


def read_mixed(value: Any) -> tuple[str | int, ...]:
    """Text, or a list of texts and token ids; nothing where the field is absent."""
    if value is None:
        return ()
    pieces = [value] if isinstance(value, str) else value
    if not isinstance(pieces, list):
        raise wrong("must be a string, or an array of strings and token ids", value)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) > MAX_TEXTS:
        raise wrong(f"must hold at most {MAX_TEXTS} strings", len(texts))
    length = sum(map(len, texts))
    if length > LONGEST_TEXT:
        raise wrong(f"must have at most {LONGEST_TEXT} characters", length)
    for piece in pieces:
        if not isinstance(piece, str) and not is_token(piece):
            raise wrong("must be a string, or an array of strings and token ids", piece)
    return tuple(pieces)


def read_tokens(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong("must be an array of token ids", value)
    for token in value:
        if not is_token(token):
            raise wrong("must hold token ids, which are whole numbers from 0", token)
    return tuple(value)


class TokenizeRequest(Wire):
    content: Annotated[tuple[str | int, ...], PlainValidator(read_mixed)] = ()
    add_special: Flag = None
    parse_special: Flag = None
    with_pieces: Flag = None


class DetokenizeRequest(Wire):
    tokens: Annotated[tuple[int, ...], PlainValidator(read_tokens)] = ()


class TokenPiece(msgspec.Struct):
    """`piece` is a list of bytes where those are not whole UTF-8 characters."""

    id: int
    piece: str | list[int]


class Tokens(msgspec.Struct):
    tokens: list[int] | list[TokenPiece]


class Content(msgspec.Struct):
    content: str


class RenderedPrompt(msgspec.Struct):
    prompt: str
