"""The task `evaluating`: what llama.cpp makes of a few tokens."""

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

import llama_cpp.llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated.llama import fail, initialize

_STEP = 512
_F32, _NO_FLASH_ATTENTION = 0, 0


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Writes the logits at the positions `keep` to `logits`, a file of numpy: a row for each.

    `file` is the model's first part, `tokens` are read from the beginning. Keys and values are kept
    in 32 bits. Raises ExportError if llama.cpp does not load the file, or cannot run it.
    """
    initialize()
    tokens, keep = arguments["tokens"], arguments["keep"]
    params = llama.llama_model_default_params()
    params.n_gpu_layers = 0

    @llama.llama_progress_callback  # type: ignore[untyped-decorator]
    def on_progress(share: float, _user_data: ctypes.c_void_p) -> bool:
        report(share / 2)
        return True

    params.progress_callback = on_progress
    model = llama.llama_model_load_from_file(os.fsencode(arguments["file"]), params)
    if not model:
        raise fail("llama.cpp does not load the file")
    context = llama.llama_init_from_model(model, _context_params(len(tokens)))
    if not context:
        raise fail("llama.cpp cannot run the model")
    size = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    rows = _evaluate(context, tokens, set(keep), size, lambda share: report((1 + share) / 2))
    np.save(arguments["logits"], np.stack([rows[position] for position in keep]))
    return {}


def _context_params(length: int) -> Any:
    params = llama.llama_context_default_params()
    params.n_ctx = length + 32
    params.n_batch = params.n_ubatch = _STEP
    # ggml's threads spin: beside a busy neighbour two are slower than one, by far.
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = _F32
    params.flash_attn_type = _NO_FLASH_ATTENTION
    params.swa_full = False
    params.no_perf = True
    return params


def _evaluate(
    context: Any, tokens: list[int], keep: set[int], size: int, report: Callable[[float], None]
) -> dict[int, NDArray[np.float32]]:
    rows = {}
    batch = llama.llama_batch_init(_STEP, 0, 1)
    for start in range(0, len(tokens), _STEP):
        part = tokens[start : start + _STEP]
        batch.n_tokens = len(part)
        for index, token in enumerate(part):
            batch.token[index] = token
            batch.pos[index] = start + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = start + index in keep
        if code := llama.llama_decode(context, batch):
            raise ExportError(f"llama.cpp cannot run the model: llama_decode gives {code}.")
        for index in range(len(part)):
            if batch.logits[index]:
                pointer = llama.llama_get_logits_ith(context, index)
                address = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float * size))
                rows[start + index] = np.array(address.contents, np.float32)
        report((start + len(part)) / len(tokens))
    return rows
