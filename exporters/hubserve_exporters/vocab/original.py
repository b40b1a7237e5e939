"""A checkpoint's own tokenizer, run by the library that it was made for."""

import json
from collections.abc import Sequence
from typing import Any

from hubserve_exporters.errors import ExportError

from .added_tokens import AddedToken
from .files import TOKENIZER, TokenizerFiles
from .runtime import as_run
from .stripping import strips_space


def encode(
    files: TokenizerFiles, added: Sequence[AddedToken], texts: Sequence[str]
) -> list[list[int]]:
    """The tokens of each text, with nothing put around them; special tokens are parsed.

    By `tokenizers` where there is a tokenizer.json, as in transformers, with what llama.cpp cannot
    do otherwise taken out (`runtime`); else by `sentencepiece`. Raises ExportError if the library
    does not take the file.
    """
    if files.tokenizer is not None:
        return _by_tokenizers(files, added, texts)
    assert files.sentencepiece is not None, "the caller has read the vocabulary out of one of them"
    return _by_sentencepiece(files.sentencepiece, added, texts)


def _by_tokenizers(
    files: TokenizerFiles, added: Sequence[AddedToken], texts: Sequence[str]
) -> list[list[int]]:
    from tokenizers import Tokenizer

    assert files.tokenizer is not None
    run, _ = as_run(files.tokenizer, added, strips=strips_space(added))
    try:
        tokenizer = Tokenizer.from_str(json.dumps(run))
    except Exception as error:  # the library raises nothing more precise
        raise ExportError(f"The tokenizers library does not take {TOKENIZER}: {error}.") from error
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def _by_sentencepiece(
    model: bytes, added: Sequence[AddedToken], texts: Sequence[str]
) -> list[list[int]]:
    from sentencepiece import SentencePieceProcessor

    processor: Any = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except Exception as error:  # the library raises nothing more precise
        raise ExportError(f"sentencepiece does not take tokenizer.model: {error}.") from error
    # As in transformers, a control token's text is that token; the library makes pieces of it.
    control = [
        (id, processor.IdToPiece(id)) for id in range(len(processor)) if processor.IsControl(id)
    ]
    tokens = dict(control) | {token.id: token.text for token in added}
    longest_first = sorted(tokens.items(), key=lambda token: -len(token[1]))

    def pieces(text: str, tokens: Sequence[tuple[int, str]]) -> list[int]:
        """What stands between such tokens is a text of its own."""
        for index, (id, token) in enumerate(tokens):
            if token in text:
                parts = [pieces(part, tokens[index + 1 :]) for part in text.split(token)]
                joined = parts[0]
                for part in parts[1:]:
                    joined = [*joined, id, *part]
                return joined
        return list(processor.EncodeAsIds(text)) if text else []

    return [pieces(text, longest_first) for text in texts]
