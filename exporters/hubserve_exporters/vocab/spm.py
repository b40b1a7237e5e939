"""SentencePiece's BPE for llama.cpp, which joins those two pieces first whose whole scores best.

It comes out of tokenizer.model, or out of a tokenizer.json that falls back to bytes: there a piece
scores by the first merge that makes it. (To give all pieces one score, as gguf's LlamaHfVocab does,
makes other tokens.)
"""

from hubserve_exporters.errors import AS_IT_IS, ExportError

from .byte_level import merge_pairs, vocabulary_of
from .files import SENTENCEPIECE, TOKENIZER, JsonObject
from .runtime import prefixes_space
from .sentencepiece_model import ModelType, PieceType, SentencePieceModel
from .vocabulary import SPACE, Vocabulary

_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))


def read_pieces(model: SentencePieceModel, tokenizer: JsonObject | None) -> Vocabulary:
    """`tokenizer` is the tokenizer.json beside it, where there is one.

    Raises ExportError if it is no BPE, or changes text in a way that llama.cpp has not.
    """
    if model.model_type is not ModelType.BPE:
        raise ExportError(
            f"{SENTENCEPIECE} is of the type {model.model_type.name}, and BPE is what can be"
            f" exported. {AS_IT_IS}"
        )
    if model.charsmap:
        raise ExportError(
            f"{SENTENCEPIECE} changes characters before it looks for pieces (by"
            f" {model.normalizer or 'a table'!r}); llama.cpp has that for Unigram models alone."
            f" {AS_IT_IS}"
        )
    types = [piece.type for piece in model.pieces]
    tokens: list[str | None] = [
        piece.text.replace(SPACE, " ") if piece.type is PieceType.USER_DEFINED else piece.text
        for piece in model.pieces
    ]
    prefix = model.add_dummy_prefix if tokenizer is None else prefixes_space(tokenizer)
    vocabulary = Vocabulary(
        model="llama",
        pre="default",
        tokens=tokens,
        types=types,
        scores=[piece.score for piece in model.pieces],
        settings={"add_space_prefix": prefix},
    )
    return vocabulary


def read_byte_fallback(tokenizer: JsonObject) -> Vocabulary:
    """Raises ExportError where a byte has no token, or text is changed in another way."""
    model = tokenizer["model"]
    ids = vocabulary_of(model)
    if missing := sorted(_BYTES - ids.keys()):
        raise ExportError(
            f"{TOKENIZER} falls back to bytes, and has no token {missing[0]!r}: llama.cpp would end"
            " at the first text that needs it."
        )
    size = max(ids.values()) + 1
    tokens: list[str | None] = [None] * size
    types = [PieceType.UNUSED] * size
    scores = [0.0] * size
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(merge_pairs(model)):
        ranks.setdefault(left + right, rank)
    unknown = model.get("unk_token")
    for text, id in ids.items():
        tokens[id] = text
        scores[id] = float(-ranks.get(text, len(ranks)))
        types[id] = PieceType.BYTE if text in _BYTES else PieceType.NORMAL
        if text == unknown:
            types[id] = PieceType.UNKNOWN
    return Vocabulary(
        model="llama",
        pre="default",
        tokens=tokens,
        types=types,
        scores=scores,
        settings={"add_space_prefix": prefixes_space(tokenizer)},
    )
