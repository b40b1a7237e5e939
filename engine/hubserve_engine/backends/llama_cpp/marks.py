"""Points to which a slot can be cut back although its state has no past.

llama.cpp's hybrids keep a past of their attention layers, and only the present of the others. A
mark is a copy of that present (`LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`), a small part of the whole
state. To go back, it is put in first, and what lies behind it is removed then: the other way round
is refused, and to remove without it gives wrong numbers and no error (llama.cpp 0.5.0).
"""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.library import pointer
from hubserve_engine.marks import lasting

_PARTIAL = llama.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY


class Marks:
    """The marks of a context's slots, by their lengths in tokens. Not while a decode runs."""

    def __init__(self, context: Any, memory: Any) -> None:
        self._context = context
        self._memory = memory
        self._marks: dict[int, dict[int, npt.NDArray[np.uint8]]] = {}

    def add(self, slot: int) -> bool:
        """Mark the slot's present length. False: it is empty, or the copy fails."""
        length = llama.llama_memory_seq_pos_max(self._memory, slot) + 1
        size = llama.llama_state_seq_get_size_ext(self._context, slot, _PARTIAL) if length else 0
        if not size:
            return False
        try:
            data = np.empty(size, np.uint8)
        except MemoryError:
            return False
        address = pointer(data, ctypes.c_uint8)
        if llama.llama_state_seq_get_data_ext(self._context, address, size, slot, _PARTIAL) != size:
            return False
        marks = {**self._marks.get(slot, {}), length: data}
        self._marks[slot] = {n: marks[n] for n in lasting(marks)}
        return True

    def restore(self, slot: int, length: int) -> bool:
        """Cut the slot back to a mark. False: there is none, and nothing has changed."""
        data = self._marks.get(slot, {}).get(length)
        if data is None:
            return False
        address, size = pointer(data, ctypes.c_uint8), len(data)
        if llama.llama_state_seq_set_data_ext(self._context, address, size, slot, _PARTIAL) != size:
            return False
        self.cut(slot, length)
        return bool(llama.llama_memory_seq_rm(self._memory, slot, length, -1))

    def cut(self, slot: int, length: int) -> None:
        """Forget the marks behind `length`."""
        marks = self._marks.get(slot, {})
        self._marks[slot] = {n: data for n, data in marks.items() if n <= length}

    def copy(self, source: int, target: int) -> None:
        """A copy of a slot has its marks; the bytes are shared."""
        self._marks[target] = dict(self._marks.get(source, {}))

    def remove(self, slot: int) -> None:
        self._marks.pop(slot, None)
