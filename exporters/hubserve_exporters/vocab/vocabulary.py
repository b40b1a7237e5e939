"""A vocabulary as llama.cpp holds it: a text, a type and perhaps a score for each id."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value

from .added_tokens import AddedToken
from .sentencepiece_model import PieceType

_ADDED_SCORE = -1000.0
_UNUSED_SCORE = -10000.0
SPACE = "\u2581"
"""What SentencePiece writes for a space."""


@dataclass(slots=True, kw_only=True)
class Vocabulary:
    """`model` and `pre` are llama.cpp's names. Of `scores` and `merges` one is there.

    It grows: first the tokenizer's own tokens, then those that were added, then the padding.
    """

    model: str
    pre: str
    tokens: list[str | None] = field(repr=False)
    types: list[PieceType] = field(repr=False)
    scores: list[float] | None = field(default=None, repr=False)
    merges: list[str] | None = field(default=None, repr=False)
    settings: dict[str, Value] = field(default_factory=dict)
    """Further keys that change tokens, without `tokenizer.ggml.`."""
    warnings: list[str] = field(default_factory=list)

    def complete(self, added: Sequence[AddedToken], rows: int) -> None:
        """Merges in the added tokens, and pads to the embedding's `rows`.

        Raises ExportError if there are more tokens than rows, or two with the same text.
        """
        count = max([len(self.tokens), *(token.id + 1 for token in added)])
        if count > rows:
            raise ExportError(
                f"The tokenizer has {count} tokens, and the embedding {rows} rows: the last tokens"
                " have no weights. Take the tokenizer that belongs to these weights, or resize the"
                f" embedding to {count} rows."
            )
        self._grow(rows)
        self._add(added)
        self._pad()

    def _add(self, added: Iterable[AddedToken]) -> None:
        """One that is there already keeps its score, and its type if that is BYTE or UNKNOWN, which
        say how it is used."""
        for token in added:
            old = self.tokens[token.id]
            if old is None:
                self._set_score(token.id, _ADDED_SCORE)
            elif old.replace(" ", SPACE) != token.text.replace(" ", SPACE):
                self.warnings.append(
                    f"The token {token.id} is {old!r} in the vocabulary, and {token.text!r} among"
                    " the added tokens, which is taken."
                )
            self.tokens[token.id] = token.text
            if old and self.types[token.id] in (PieceType.BYTE, PieceType.UNKNOWN):
                continue
            self.types[token.id] = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
            if self.scores is not None and not token.special:
                # llama.cpp looks for it in the text before it replaces spaces there.
                self.tokens[token.id] = token.text.replace(SPACE, " ")

    def _pad(self) -> None:
        ids: dict[str, int] = {}
        for id, text in enumerate(self.tokens):
            if not text:
                continue
            if "\0" in text:
                raise ExportError(
                    f"The token {id} ({text!r}) has a NUL in it, where llama.cpp ends a text."
                )
            if text in ids:
                raise ExportError(
                    f"The tokens {ids[text]} and {id} are both {text!r}; llama.cpp takes no text"
                    " twice. Take the tokenizer from the original checkpoint."
                )
            ids[text] = id
        for id, text in enumerate(self.tokens):
            if text is None:
                filler = f"[PAD{id}]"
                while filler in ids:
                    filler = f"[{filler}]"
                self.tokens[id] = filler

    def ids(self) -> Mapping[str, int]:
        """The id of each text."""
        return {text: id for id, text in enumerate(self.tokens) if text is not None}

    def metadata(self) -> dict[str, Value]:
        """The keys, once it is complete."""
        keys: dict[str, Value] = {
            "model": self.model,
            "pre": self.pre,
            "tokens": [text or "" for text in self.tokens],
            "token_type": np.array(self.types, np.int32),
        }
        if self.scores is not None:
            keys["scores"] = np.array(self.scores, np.float32)
        if self.merges is not None:
            keys["merges"] = self.merges
        return {f"tokenizer.ggml.{key}": value for key, value in (keys | self.settings).items()}

    def _grow(self, size: int) -> None:
        missing = size - len(self.tokens)
        if missing > 0:
            self.tokens += [None] * missing
            self.types += [PieceType.UNUSED] * missing
            if self.scores is not None:
                self.scores += [_UNUSED_SCORE] * missing

    def _set_score(self, id: int, score: float) -> None:
        if self.scores is not None:
            self.scores[id] = score
