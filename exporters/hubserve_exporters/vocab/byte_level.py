"""Byte-level BPE out of tokenizer.json: each byte is a letter, merges say which pairs join."""

from hubserve_exporters.errors import ExportError

from .files import TOKENIZER, JsonObject
from .pre_tokenizer import check_name, find_pre_tokenizer
from .sentencepiece_model import PieceType
from .vocabulary import Vocabulary

_SPACE = "\u0120"
"""The letter of the space. llama.cpp cuts a merge at the first space: none may be in a part."""


def read_byte_level(tokenizer: JsonObject, pre: str | None = None) -> Vocabulary:
    """`pre` is the pre-tokenizer's name, where the user gave one.

    Raises ExportError where text is changed, split or merged in a way that llama.cpp has not.
    """
    model = tokenizer["model"]
    ids = vocabulary_of(model)
    tokens: list[str | None] = [None] * (max(ids.values(), default=-1) + 1)
    for text, id in ids.items():
        tokens[id] = text
    types = [PieceType.UNUSED if text is None else PieceType.NORMAL for text in tokens]
    merges = [" ".join(part.replace(" ", _SPACE) for part in pair) for pair in merge_pairs(model)]
    if not merges:
        raise ExportError(f"{TOKENIZER} has no merges; take it from the original checkpoint.")
    name = find_pre_tokenizer(tokenizer) if pre is None else check_name(pre)
    return Vocabulary(model="gpt2", pre=name, tokens=tokens, types=types, merges=merges)


def vocabulary_of(model: JsonObject) -> dict[str, int]:
    """Ids by text. Raises ExportError where one is not a number, or is there twice."""
    vocab = model.get("vocab")
    if not isinstance(vocab, dict):
        raise ExportError(f"{TOKENIZER}: 'model.vocab' is not an object.")
    if not all(type(id) is int and 0 <= id < 2**24 for id in vocab.values()):
        raise ExportError(f"{TOKENIZER}: 'model.vocab' has an id that is no number of a token.")
    if len(set(vocab.values())) != len(vocab):
        raise ExportError(f"{TOKENIZER}: 'model.vocab' gives an id to two tokens.")
    return vocab


def merge_pairs(model: JsonObject) -> list[tuple[str, str]]:
    """Pairs in order of rank. They are written as one text with a space, or, since transformers
    4.45, as a list of two. Raises ExportError for any other form."""
    pairs: list[tuple[str, str]] = []
    merges = model.get("merges") or []
    if not isinstance(merges, list):
        raise ExportError(f"{TOKENIZER}: 'model.merges' is not a list.")
    for merge in merges:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        match parts:
            case [str(left), str(right)] if left and right:
                pairs.append((left, right))
            case _:
                raise ExportError(f"{TOKENIZER}: the merge {merge!r:.60} is not of two parts.")
    return pairs
