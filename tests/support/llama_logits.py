"""llama.cpp's logits of tiny files, in a process of its own: what is wrong with a file may end it.

As a program it takes JSON on its input, [[file, [token, ...], context], ...], and writes the logits
of each into the folder that its argument names, as NUMBER.npy.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Job = tuple[Path, Sequence[int], int]
"""A file, what it reads, and the length of its context."""


def llama_logits(jobs: Sequence[Job]) -> list[NDArray[np.float32]]:
    """For each of them the logits of all tokens, (tokens, vocabulary), computed in 32 bits."""
    with tempfile.TemporaryDirectory() as folder:
        listed = [(str(file), list(tokens), context) for file, tokens, context in jobs]
        done = subprocess.run(
            [sys.executable, __file__, folder],
            input=json.dumps(listed),
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return [np.load(Path(folder) / f"{number}.npy") for number in range(len(jobs))]


def _main() -> None:
    import llama_cpp.llama_cpp as llama

    @llama.llama_log_callback  # type: ignore[untyped-decorator]
    def on_log(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
        if level >= 3:
            sys.stderr.write(text.decode("utf-8", "replace"))

    llama.llama_log_set(on_log, ctypes.c_void_p(0))
    llama.llama_backend_init()
    jobs = json.load(sys.stdin)
    for number, job in enumerate(jobs):
        np.save(Path(sys.argv[1]) / f"{number}.npy", _logits(llama, *job))


def _logits(llama: Any, file: str, tokens: list[int], context: int) -> NDArray[np.float32]:
    model = llama.llama_model_load_from_file(file.encode(), llama.llama_model_default_params())
    if model is None:
        sys.exit(f"{file} was not loaded")
    params = llama.llama_context_default_params()
    params.n_ctx = context
    params.n_batch = params.n_ubatch = max(512, len(tokens))
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = 0  # F32
    params.flash_attn_type = 0
    params.swa_full = False
    handle = llama.llama_init_from_model(model, params)
    batch = llama.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for place, token in enumerate(tokens):
        batch.token[place], batch.pos[place], batch.logits[place] = token, place, 1
        batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
    if llama.llama_decode(handle, batch):
        sys.exit(f"{file} was not decoded")
    shape = len(tokens), llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    logits = np.ctypeslib.as_array(llama.llama_get_logits(handle), shape).copy()
    llama.llama_batch_free(batch)
    llama.llama_free(handle)
    llama.llama_model_free(model)
    return logits


if __name__ == "__main__":
    _main()
