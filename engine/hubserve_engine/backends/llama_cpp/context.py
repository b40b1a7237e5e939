"""llama.cpp's context: the KV memory of all sequences, and the batch that a step decodes."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubserve_engine.backends.base import BackendConfig, Chunk, NoRoom
from hubserve_engine.backends.llama_cpp import library
from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.blank_pages import given_back
from hubserve_engine.backends.llama_cpp.library import pointer
from hubserve_engine.backends.llama_cpp.marks import Marks
from hubserve_engine.backends.llama_cpp.model import Model
from hubserve_engine.backends.llama_cpp.state import State, key
from hubserve_engine.backends.masks import Row
from hubserve_engine.errors import LoadError
from hubserve_engine.types import CacheType

_SMALLEST_CONTEXT = 512
_NO_SLOT = 1


class Context:
    """One decode at a time, on one thread. Rows of the last decode are numbered in batch order.

    `length` and `batch` are the tokens that the memory and a step hold, `max_rows` the rows of
    logits of a step. `rollback` of the tokens that a slot got last can be cut off again.
    `has_parts`: states can be saved in parts.
    """

    def __init__(self, model: Model, config: BackendConfig) -> None:
        self._model = model
        self._config = config
        self._slots = config.parallel + config.spare
        # They take one sequence more, and a memory of nothing but cells.
        self.has_parts = not (model.recurrent or model.window) and (
            self._slots < llama.llama_max_parallel_sequences()
        )
        self.handle: Any
        with given_back():
            self.handle, self.length = self._allocate(config.context_length)
        self._memory = llama.llama_get_memory(self.handle)
        if not self._memory:
            self.close()
            raise LoadError("This model keeps no state between tokens, so it cannot write text.")
        self.state = State(self.handle, self._memory, self._slots if self.has_parts else None)
        self.state_key = key(model, self._params(self.length), self.length)
        # No more than the context. Larger steps would be cut into micro-batches without regard to
        # whose tokens come out alone.
        self.batch = int(llama.llama_n_ubatch(self.handle))
        self.max_rows = config.parallel + config.drafts
        self.rollback = self.length
        if model.recurrent:
            self.rollback = int(llama.llama_n_rs_seq(self.handle))
        self._past = _Past(self.rollback) if model.recurrent else None
        self._rows: dict[int, Row] = {}
        self._marks = Marks(self.handle, self._memory)
        self._batch = _Batch(self.batch, self._slots)

    def _allocate(self, length: int) -> tuple[Any, int]:
        wanted = length
        while True:
            handle = llama.llama_init_from_model(self._model.handle, self._params(length))
            if handle:
                return handle, int(llama.llama_n_ctx(handle))
            if length <= _SMALLEST_CONTEXT:
                reasons = library.problems()
                raise LoadError(
                    f"A context of {wanted} tokens cannot be allocated, nor can a smaller one:"
                    f" {reasons[-1] if reasons else 'out of memory'}"
                )
            length = max(_SMALLEST_CONTEXT, length // 2)

    def _params(self, length: int) -> Any:
        config, running = self._config, self._config.running
        params = llama.llama_context_default_params()
        params.n_ctx = length
        params.n_batch = running.batch
        params.n_ubatch = running.micro_batch
        params.n_seq_max = self._slots + self.has_parts
        # Otherwise the worst case is reserved: a row of the whole vocabulary for every batch token.
        # It is also asked for a row of each sequence, and ends the process if that is too many.
        params.n_outputs_max = max(config.parallel + config.drafts, params.n_seq_max)
        # Taken as 0 where the architecture cannot do it.
        params.n_rs_seq = config.snapshots if self._model.recurrent else 0
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = running.threads
        params.flash_attn_type = (
            llama.LLAMA_FLASH_ATTN_TYPE_ENABLED
            if running.flash_attention
            else llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.type_k = _number(running.cache_type_k)
        params.type_v = _number(running.cache_type_v)
        # Sliding-window layers keep all they have seen, so that any prefix can be cut and reused.
        params.swa_full = True
        params.no_perf = True
        return params

    def use_threads(self, count: int) -> None:
        llama.llama_set_n_threads(self.handle, count, count)

    def decode(self, chunks: Sequence[Chunk]) -> list[int]:
        """Run one step; returns each chunk's first row, or -1 where it asked for none. Rows of
        guesses follow. Raises NoRoom."""
        wanted = sum(1 + c.drafts for c in chunks if c.sampler is not None)
        if wanted > self.max_rows:  # llama.cpp would end the process
            raise RuntimeError(f"{wanted} rows in a step, of at most {self.max_rows}")
        rows = self._batch.fill(chunks)
        code: int = llama.llama_decode(self.handle, self._batch.struct)
        if code == _NO_SLOT:
            raise NoRoom
        if code != 0:
            raise RuntimeError(f"llama_decode returned {code}: {'; '.join(library.problems())}")
        if self._past is not None:
            for chunk in chunks:
                self._past.appended(chunk.slot, len(chunk.tokens))
        return rows

    def logits(self, row: int) -> Row:
        """A writable view of a row, shape (vocabulary,); valid until the next decode."""
        logits = llama.llama_get_logits_ith(self.handle, row)
        # Rows lie in one buffer, at the same few addresses in every step, and to make a view of one
        # takes longer than most of what is done with it.
        address = ctypes.addressof(logits.contents)
        view = self._rows.get(address)
        if view is None:
            view = np.ctypeslib.as_array(logits, shape=(self._model.n_vocab,))
            self._rows[address] = view
        return view

    def mark(self, slot: int) -> bool:
        return self._marks.add(slot)

    def truncate(self, slot: int, length: int) -> bool:
        if self._past is not None:
            return self._roll_back(slot, length, self._past)
        first = llama.llama_memory_seq_pos_min(self._memory, slot)
        if first > 0 and 0 < length < first + self._model.window - 1:
            # A loaded state has no more than the window. llama.cpp would cut further back and then
            # read on without what the window should hold.
            return False
        return bool(llama.llama_memory_seq_rm(self._memory, slot, length, -1))

    def _roll_back(self, slot: int, length: int, past: "_Past") -> bool:
        back = int(llama.llama_memory_seq_pos_max(self._memory, slot)) + 1 - length
        if length and back:
            if not past.reaches(slot, back):
                if not self._marks.restore(slot, length):
                    return False
                past.forget(slot)
                return True
            past.cut(slot)
            self._marks.cut(slot, length)
        return bool(llama.llama_memory_seq_rm(self._memory, slot, length, -1))

    def fork(self, source: int, target: int) -> bool:
        if self._past is not None and not self._past.copied(source, target):
            state = self.state.save(source)  # which is right at any time
            if state is None or not self.state.load(target, state):
                return False
        else:
            llama.llama_memory_seq_cp(self._memory, source, target, -1, -1)
        self._marks.copy(source, target)
        return True

    def remove(self, slot: int) -> None:
        self._marks.remove(slot)
        llama.llama_memory_seq_rm(self._memory, slot, -1, -1)
        if self._past is not None:
            self._past.forget(slot)

    def close(self) -> None:
        if self.handle:
            llama.llama_free(self.handle)
            self.handle = None


class _Past:
    """How far each slot of a recurrent model can be cut back.

    llama.cpp keeps the states after the last tokens of a sequence's last decode. To go back
    further, twice, or in a copy, is not refused everywhere; where it is not, later logits are wrong
    (llama_memory_recurrent::seq_rm, seq_cp and s_copy, 0.5.0-dev).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._reach: dict[int, int] = {}
        self._cut: set[int] = set()

    def appended(self, slot: int, tokens: int) -> None:
        """A decode gave the slot this many tokens."""
        self._reach[slot] = min(self._most, tokens - 1)
        self._cut.discard(slot)

    def reaches(self, slot: int, back: int) -> bool:
        return 0 < back <= self._reach.get(slot, 0)

    def cut(self, slot: int) -> None:
        """The slot was cut back, which takes effect in its next decode."""
        self._reach[slot] = 0
        self._cut.add(slot)

    def copied(self, source: int, target: int) -> bool:
        """Whether `seq_cp` may copy the slot: until the next decode it may not copy a cut one."""
        if source in self._cut:
            return False
        self._reach[source] = self._reach[target] = 0
        return True

    def forget(self, slot: int) -> None:
        self._reach.pop(slot, None)
        self._cut.discard(slot)


class _Batch:
    """A llama_batch over arrays of ours, filled by slices: no call and no object for each token."""

    def __init__(self, capacity: int, slots: int) -> None:
        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._flags = np.zeros(capacity, np.int8)
        self._counts = np.ones(capacity, np.int32)
        self._slots = np.arange(slots, dtype=np.int32)
        self._slot_pointers = np.zeros(capacity, np.uintp)
        self._slot_addresses = self._slots.ctypes.data + 4 * np.arange(slots, dtype=np.uintp)
        self.struct = llama.llama_batch(
            n_tokens=0,
            token=pointer(self._tokens, llama.llama_token),
            embd=None,
            pos=pointer(self._positions, llama.llama_pos),
            n_seq_id=pointer(self._counts, ctypes.c_int32),
            seq_id=pointer(self._slot_pointers, ctypes.POINTER(llama.llama_seq_id)),
            logits=pointer(self._flags, ctypes.c_int8),
        )

    def fill(self, chunks: Sequence[Chunk]) -> list[int]:
        rows = []
        start = 0
        for chunk in chunks:
            end = start + len(chunk.tokens)
            if end - start == 1:  # while it writes; slices of one take three times as long
                self._tokens[start] = chunk.tokens[0]
                self._positions[start] = chunk.position
                self._flags[start] = 0
                self._slot_pointers[start] = self._slot_addresses[chunk.slot]
            else:
                self._tokens[start:end] = chunk.tokens
                self._positions[start:end] = np.arange(chunk.position, chunk.position + end - start)
                self._flags[start:end] = 0
                self._slot_pointers[start:end] = self._slot_addresses[chunk.slot]
            first = end - 1 - chunk.drafts
            if chunk.drafts:
                self._flags[first:end] = 1
            elif chunk.sampler is not None:
                self._flags[first] = 1
            rows.append(first if chunk.sampler is not None else -1)
            start = end
        self.struct.n_tokens = start
        return rows


def _number(kind: CacheType) -> int:
    number: int = getattr(llama, f"GGML_TYPE_{kind.upper()}")
    return number
