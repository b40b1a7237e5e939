"""One sequence's whole state as bytes, and what must be equal for them to be loaded again."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from hubserve_engine.backends.llama_cpp import library
from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.library import pointer
from hubserve_engine.backends.llama_cpp.model import Model

_WHOLE = llama.LLAMA_STATE_SEQ_FLAGS_NONE


class State:
    """The states of a context's sequences. Not while a decode runs. Parts need an `other` sequence,
    always empty, and a memory that is nothing but cells, which sequences can share."""

    def __init__(self, context: Any, memory: Any, other: int | None) -> None:
        self._context = context
        self._memory = memory
        self._other = other
        self._buffer = np.empty(0, np.uint8)

    def size(self, slot: int) -> int:
        """In bytes; 0 for an empty slot."""
        if llama.llama_memory_seq_pos_max(self._memory, slot) < 0:
            return 0
        return int(llama.llama_state_seq_get_size_ext(self._context, slot, _WHOLE))

    def save(self, slot: int) -> memoryview | None:
        """A read-only view of one buffer, valid until the next save.

        Memory that was never touched is six times as slow to write to (18 instead of 3 ms for
        30 MB, in page faults), so there is one buffer for all saves.
        """
        size = self.size(slot)
        if size > len(self._buffer):
            try:
                self._buffer = np.empty(size, np.uint8)
            except MemoryError:
                return None
        address = pointer(self._buffer, ctypes.c_uint8)
        written = llama.llama_state_seq_get_data_ext(self._context, address, size, slot, _WHOLE)
        return self._buffer.data[:size].toreadonly() if size and written == size else None

    def save_part(self, slot: int, first: int, last: int) -> memoryview | None:
        if self._other is None:
            return None
        llama.llama_memory_seq_cp(self._memory, slot, self._other, first, last)
        part = self.save(self._other)
        self._empty(self._other)
        return part

    def load(self, slot: int, state: bytes | memoryview) -> bool:
        data = np.frombuffer(state, np.uint8)
        read = self._fill(slot, data)
        while read and len(data := data[read:]):
            read = self._append(slot, data)
        if read:
            return True
        # Of a hybrid's two memories the first may have been filled before the second refused.
        self._empty(slot)
        library.problems()
        return False

    def _fill(self, slot: int, data: npt.NDArray[np.uint8]) -> int:
        """How many bytes the first state in these has; 0 if they do not begin with one."""
        address = pointer(data, ctypes.c_uint8)
        size = len(data)
        return int(llama.llama_state_seq_set_data_ext(self._context, address, size, slot, _WHOLE))

    def _append(self, slot: int, data: npt.NDArray[np.uint8]) -> int:
        """The same, behind what the slot has. llama.cpp empties what it loads into."""
        if self._other is None:
            return 0
        read = self._fill(self._other, data)
        llama.llama_memory_seq_cp(self._memory, self._other, slot, -1, -1)
        self._empty(self._other)
        return read

    def _empty(self, slot: int) -> None:
        llama.llama_memory_seq_rm(self._memory, slot, -1, -1)


def key(model: Model, params: Any, length: int) -> str:
    """Everything beside the weights that a state of a context with these params depends on.

    What the tensors' layout depends on llama.cpp checks itself, but not what their numbers depend
    on. `length` is the context's, which decides between the two sets of rotary factors that some
    models have.
    """
    parts = {
        "llama.cpp": library.version(),
        "state": llama.LLAMA_STATE_SEQ_VERSION,
        "k": params.type_k,
        "v": params.type_v,
        "fa": params.flash_attn_type,
        "unified": params.kv_unified,
        "swa": (model.window, params.swa_full),
        "rope": (params.rope_scaling_type, params.rope_freq_base, params.rope_freq_scale),
        "yarn": (
            params.yarn_ext_factor,
            params.yarn_attn_factor,
            params.yarn_beta_fast,
            params.yarn_beta_slow,
            params.yarn_orig_ctx,
        ),
    }
    original = model.metadata(f"{model.architecture}.rope.scaling.original_context_length")
    if original is not None and original.isdecimal():
        parts["long"] = length > int(original)
    return " ".join(f"{name}={value}" for name, value in parts.items())
