"""Tokenizer files that transformers loads, out of a GGUF file's keys alone.

For files that were made elsewhere. What a GGUF file leaves out is put back as llama.cpp has it: how
text is split follows from the pre-tokenizer's name, and of SentencePiece's merges there is one for
each way to cut a piece in two, in the order of scores.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata

from .added_tokens import AddedToken, describe
from .files import (
    CHAT_TEMPLATE,
    DEFAULT_TEMPLATE,
    MORE_TEMPLATES,
    SENTENCEPIECE,
    TOKENIZER,
    TOKENIZER_CONFIG,
)
from .patterns import SAME, SPLITTINGS
from .sentencepiece_model import ModelType, Piece, PieceType, SentencePieceModel, build_model
from .vocabulary import SPACE

_KEY = "tokenizer.ggml."
_TEMPLATE = "tokenizer.chat_template"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NAMES = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
    "mask_token": "mask_token_id",
}
_ADDED = (PieceType.CONTROL, PieceType.USER_DEFINED, PieceType.UNKNOWN)


def tokenizer_files(metadata: Metadata) -> dict[str, bytes]:
    """File names, and what is in them. Padding is left out; it was no tokens.

    Raises ExportError for a tokenizer of another kind, or a pre-tokenizer that is not known.
    """
    model = metadata.string(f"{_KEY}model")
    tokens = list(metadata.strings(f"{_KEY}tokens") or ())
    types = _types(metadata, len(tokens))
    files: dict[str, bytes] = {}
    if model == "gpt2":
        files[TOKENIZER] = _json(_byte_level(metadata, tokens, types))
    elif model == "llama":
        pieces = _pieces(metadata, tokens, types)
        files[SENTENCEPIECE] = build_model(pieces)
        files[TOKENIZER] = _json(_byte_fallback(pieces, metadata))
    else:
        raise ExportError(f"The file has a tokenizer of the kind {model!r}; no file can be made.")
    files[TOKENIZER_CONFIG] = _json(_config(metadata, tokens))
    for key in metadata:
        if key.startswith(_TEMPLATE) and isinstance(text := metadata[key], str):
            name = key.removeprefix(_TEMPLATE).removeprefix(".") or DEFAULT_TEMPLATE
            if not _NAME.fullmatch(name):
                raise ExportError(f"The file's chat template {name!r} cannot be a file's name.")
            path = CHAT_TEMPLATE if name == DEFAULT_TEMPLATE else f"{MORE_TEMPLATES}/{name}.jinja"
            files[path] = text.encode()
    return files


def _types(metadata: Metadata, count: int) -> list[PieceType]:
    numbers = metadata.uints(f"{_KEY}token_type")
    if numbers is None:
        return [PieceType.NORMAL] * count
    try:
        types = [PieceType(number) for number in numbers]
    except ValueError as error:
        raise ExportError(f"The file has a token of a type that is not known: {error}.") from None
    if len(types) != count:
        raise ExportError(f"The file has {count} tokens, and types of {len(types)}.")
    return types


def _byte_level(
    metadata: Metadata, tokens: Sequence[str], types: Sequence[PieceType]
) -> dict[str, Any]:
    name = metadata.string(f"{_KEY}pre") or "default"
    splitting = SPLITTINGS.get(SAME.get(name, name))
    if splitting is None:
        raise ExportError(
            f"The file's pre-tokenizer is {name!r}, and how that splits text is not known here."
        )
    split = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in splitting.patterns
    ]
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {
        **_BPE,
        "ignore_merges": splitting.ignore_merges,
        # With the added ones: the library numbers those that are not there anew.
        "vocab": {t: i for i, t in enumerate(tokens) if types[i] is not PieceType.UNUSED},
        "merges": [m.split(" ", 1) for m in metadata.strings(f"{_KEY}merges") or ()],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(tokens, types),
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*split, {**bytes_, "use_regex": False}],
        },
        "post_processor": _framing(metadata, tokens),
        "decoder": {**bytes_, "use_regex": True},
        "model": model,
    }


_BPE = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def _pieces(
    metadata: Metadata, tokens: Sequence[str], types: Sequence[PieceType]
) -> SentencePieceModel:
    scores = metadata.get(f"{_KEY}scores")
    if not isinstance(scores, memoryview) or len(scores) != len(tokens):
        raise ExportError("The file has no score for each of its tokens.")
    texts = [t.replace(" ", SPACE) for t in tokens]
    ids = {
        key: metadata.uint(f"{_KEY}{key}_token_id") for key in ("unknown", "bos", "eos", "padding")
    }
    prefix = metadata.flag(f"{_KEY}add_space_prefix")
    unknown = ids["unknown"] or 0
    if unknown >= len(tokens):
        raise ExportError(f"The file's unknown token is {unknown}, of {len(tokens)}.")
    # There is one of that type. Many files have it as a control token, and padding as unknown.
    kinds: list[PieceType] = [
        PieceType.UNUSED if type is PieceType.UNKNOWN else type for type in types
    ]
    kinds[unknown] = PieceType.UNKNOWN
    return SentencePieceModel(
        pieces=tuple(map(Piece, texts, scores, kinds)),
        model_type=ModelType.BPE,
        byte_fallback=PieceType.BYTE in types,
        unknown_id=unknown,
        bos_id=-1 if ids["bos"] is None else ids["bos"],
        eos_id=-1 if ids["eos"] is None else ids["eos"],
        pad_id=-1 if ids["padding"] is None else ids["padding"],
        normalizer="identity",
        add_dummy_prefix=prefix is not False,
        remove_extra_whitespaces=False,
    )


def _byte_fallback(pieces: SentencePieceModel, metadata: Metadata) -> dict[str, Any]:
    texts = [piece.text for piece in pieces.pieces]
    types = [piece.type for piece in pieces.pieces]
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    prepend = [{"type": "Prepend", "prepend": SPACE}] if pieces.add_dummy_prefix else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(texts, types),
        "normalizer": {"type": "Sequence", "normalizers": [*prepend, replace]},
        "pre_tokenizer": None,
        "post_processor": _framing(metadata, texts),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *(strip if pieces.add_dummy_prefix else ()),
            ],
        },
        "model": {
            **_BPE,
            "unk_token": texts[pieces.unknown_id],
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {t: i for i, t in enumerate(texts) if types[i] is not PieceType.UNUSED},
            "merges": _merges(pieces.pieces),
        },
    }


def _merges(pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    ids = {piece.text: id for id, piece in enumerate(pieces) if piece.type is PieceType.NORMAL}
    found: list[tuple[float, int, int, int]] = []
    for text, id in ids.items():
        for cut in range(1, len(text)):
            left, right = ids.get(text[:cut]), ids.get(text[cut:])
            if left is not None and right is not None:
                found.append((-pieces[id].score, id, left, right))
    found.sort()
    return [(pieces[left].text, pieces[right].text) for _, _, left, right in found]


def _added(tokens: Sequence[str], types: Sequence[PieceType]) -> list[Any]:
    return [
        # What was made of pieces is found after spaces have become U+2581.
        describe(AddedToken(id=id, text=text, special=special, normalized=SPACE in text))
        for id, text in enumerate(tokens)
        if types[id] in _ADDED and text
        for special in [types[id] is not PieceType.USER_DEFINED]
    ]


def _framing(metadata: Metadata, tokens: Sequence[str]) -> dict[str, Any] | None:
    """What puts the BOS and EOS tokens around a text."""
    special: dict[str, Any] = {}
    parts: list[Any] = [{"Sequence": {"id": "A", "type_id": 0}}]
    for purpose, at in (("bos", 0), ("eos", 2)):
        id = metadata.uint(f"{_KEY}{purpose}_token_id")
        if metadata.flag(f"{_KEY}add_{purpose}_token") and id is not None and id < len(tokens):
            text = tokens[id]
            special[text] = {"id": text, "ids": [id], "tokens": [text]}
            parts.insert(at, {"SpecialToken": {"id": text, "type_id": 0}})
    if not special:
        return None
    return {
        "type": "TemplateProcessing",
        "single": parts,
        "pair": [*parts, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": special,
    }


def _config(metadata: Metadata, tokens: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    for name, key in _NAMES.items():
        id = metadata.uint(f"{_KEY}{key}")
        if id is not None and id < len(tokens):
            config[name] = tokens[id]
    return config


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
