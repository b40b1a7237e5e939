"""The task `tokenizing`: a file's vocabulary in llama.cpp, without its weights."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import llama_cpp.llama_cpp as llama

from hubserve_exporters.isolated.llama import fail, initialize


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """The `tokens` of each of `texts`, their special tokens parsed, and of `framed` with what the
    tokenizer puts around a text. Raises ExportError if the file at `path` does not load."""
    initialize()
    params = llama.llama_model_default_params()
    params.vocab_only = True
    model = llama.llama_model_load_from_file(os.fsencode(arguments["path"]), params)
    if not model:
        raise fail("llama.cpp cannot load the tokenizer that was written")
    vocab = llama.llama_model_get_vocab(model)
    texts = arguments["texts"]
    tokens = []
    for index, text in enumerate(texts):
        tokens.append(_tokenize(vocab, text, frame=False))
        report((index + 1) / len(texts))
    framed = [_tokenize(vocab, text, frame=True) for text in arguments["framed"]]
    return {"tokens": tokens, "framed": framed}


def _tokenize(vocab: Any, text: str, *, frame: bool) -> list[int]:
    data = text.encode()
    # A byte makes one token at most, and up to three stand around them.
    room = len(data) + 16
    tokens = (llama.llama_token * room)()
    count = llama.llama_tokenize(vocab, data, len(data), tokens, room, frame, True)
    return list(tokens[:count])
