"""What llama.cpp allocates for a model.

`python llama_cpp_sizes.py FILE CONTEXT FLASH PARALLEL DRAFTS SNAPSHOTS`

Prints the bytes of the state and of the buffers as JSON. It is a process of its own, as it takes
over llama.cpp's log, which is where the sizes are.
"""

import ctypes
import json
import re
import sys

import llama_cpp as llama

_SIZE = re.compile(r"(KV|RS|compute|output) buffer size = +([\d.]+) MiB")


def main(
    file: str, context: int, flash_attention: int, slots: int, rows: int, snapshots: int
) -> None:
    """Loads the model, makes a context as the backend does, and prints the sizes."""
    lines: list[str] = []

    @llama.llama_log_callback  # type: ignore[untyped-decorator]
    def collect(level: int, text: bytes, data: ctypes.c_void_p) -> None:
        lines.append(text.decode(errors="replace"))

    llama.llama_log_set(collect, None)
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(file.encode(), llama.llama_model_default_params())
    params = llama.llama_context_default_params()
    params.n_ctx = context
    params.n_batch = 512
    params.n_ubatch = 128
    params.n_seq_max = slots
    params.n_outputs_max = rows
    params.n_rs_seq = snapshots
    params.kv_unified = True
    params.swa_full = True
    params.flash_attn_type = flash_attention
    handle = llama.llama_init_from_model(model, params)
    sizes = {"KV": 0.0, "RS": 0.0, "compute": 0.0, "output": 0.0}
    for name, mebibytes in _SIZE.findall("".join(lines)):
        sizes[name] += float(mebibytes) * 2**20
    llama.llama_free(handle)
    llama.llama_model_free(model)
    print(json.dumps(sizes))


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:]))
