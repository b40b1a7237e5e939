"""Whether a written file gives the tokens that the checkpoint's own tokenizer gives."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.isolated.call import call

from .added_tokens import AddedToken, added_tokens
from .corpus import around, corpus
from .files import read_tokenizer_files
from .metadata import base_ids, read_sentencepiece
from .original import encode
from .sentencepiece_model import PieceType, SentencePieceModel
from .vocabulary import SPACE

_FIRST, _LAST = 40, 8
_FRAMED = ("", "Hello", " two words")
_SHOWN = 5
_LIMIT = 900.0
"""Seconds for what takes one or two, also on a machine that has much else to do."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A text, and the tokens of it. `expected` are those of the original."""

    text: str
    expected: tuple[int, ...]
    found: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.text!r}: {list(self.expected)}, and in llama.cpp {list(self.found)}"


def compare_tokenizers(path: str | os.PathLike[str], checkpoint: Checkpoint) -> list[Difference]:
    """All differences on the corpus, and on texts with the tokenizer's own special tokens.

    The file is loaded by llama.cpp in a process of its own, without its weights.
    Raises ExportError if it does not load there, or ends the process.
    """
    files = read_tokenizer_files(checkpoint)
    with open_gguf(path) as file:
        if file.metadata.string("tokenizer.ggml.model") == "none":
            return []
        frame = _frame(file.metadata)
    model = read_sentencepiece(files)
    added = added_tokens(files, base_ids(files, model))
    texts = (*corpus(), *around(_chosen([*added, *_pieces(model)])))
    expected = encode(files, added, texts)
    plain = encode(files, added, _FRAMED)
    answer = call(
        "tokenizing",
        {"path": os.fspath(path), "texts": texts, "framed": _FRAMED},
        doing="reading the tokenizer that was written",
        limit=_LIMIT,
    )
    pairs = list(zip(texts, expected, answer["tokens"], strict=True))
    if frame is not None:
        framed = [[*frame[0], *ids, *frame[1]] for ids in plain]
        pairs += zip(_FRAMED, framed, answer["framed"], strict=True)
    return [
        Difference(text, tuple(ours), tuple(theirs))
        for text, ours, theirs in pairs
        if ours != theirs
    ]


def check_tokenizers(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Raises ExportError, with texts and tokens, if there is any difference."""
    differences = compare_tokenizers(path, checkpoint)
    if differences:
        shown = "\n".join(f"  {one}" for one in sorted(differences, key=_size)[:_SHOWN])
        raise ExportError(
            f"The written file gives other tokens than the checkpoint's tokenizer, for"
            f" {len(differences)} texts, such as\n{shown}\nIf you named the pre-tokenizer (--pre),"
            " try another; else this tokenizer cannot be exported."
        )


def _size(difference: Difference) -> int:
    return len(difference.text)


def _pieces(model: SentencePieceModel | None) -> Iterator[AddedToken]:
    """Those that tokenizer.model itself looks for in text."""
    for id, piece in enumerate(model.pieces if model is not None else ()):
        if piece.type in (PieceType.CONTROL, PieceType.USER_DEFINED):
            yield AddedToken(id=id, text=piece.text, special=piece.type is PieceType.CONTROL)


def _chosen(added: Sequence[AddedToken]) -> list[str]:
    """Some models reserve thousands: the first and the last of each kind are enough."""
    chosen: dict[str, None] = {}
    for special in (True, False):
        # A text with U+2581 for a space is one that nobody writes.
        of_kind = [t.text.replace(SPACE, " ") for t in added if t.special is special]
        chosen |= dict.fromkeys(of_kind[:_FIRST] + of_kind[-_LAST:])
    return list(chosen)


def _frame(metadata: Metadata) -> tuple[list[int], list[int]] | None:
    """What the file says is put before a text and behind it; None if it does not say so."""
    sides = []
    for purpose in ("bos", "eos"):
        flag = metadata.flag(f"tokenizer.ggml.add_{purpose}_token")
        if flag is None:
            return None
        id = metadata.uint(f"tokenizer.ggml.{purpose}_token_id")
        sides.append([id] if flag and id is not None else [])
    return sides[0], sides[1]
