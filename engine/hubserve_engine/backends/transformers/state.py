"""A slot's whole state as bytes, and what must be equal for them to be a state again."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from math import prod

import numpy as np
import numpy.typing as npt
import torch
from transformers import Cache

from hubserve_engine.backends.transformers import cache as caches

_HEAD = struct.Struct("<16sQ")
"""What a state begins with: what it is of, and its length in tokens. The tensors follow."""
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Part:
    """A tensor of the state. Where it `grows` its last dimension but one is the length."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    grows: bool

    def at(self, length: int) -> tuple[int, ...]:
        """The shape for so many tokens."""
        return (*self.shape[:-2], length, self.shape[-1]) if self.grows else self.shape


class States:
    """For caches such as `sample`, which holds a token, of the model that `key` names."""

    def __init__(self, sample: Cache, key: str) -> None:
        self._sample = sample
        self._parts = [_Part(tuple(t.shape), t.dtype, grows) for t, grows in caches.tensors(sample)]
        layout = [(part.at(0), str(part.dtype)) for part in self._parts]
        self._mark = blake2b(f"{key} {layout}".encode(), digest_size=16).digest()
        self._buffer: Bytes = np.empty(0, np.uint8)

    def size(self, length: int) -> int:
        """In bytes; 0 for no tokens."""
        return _HEAD.size + sum(self._sizes(length)) if length else 0

    def _sizes(self, length: int) -> Iterator[int]:
        return (prod(part.at(length)) * part.dtype.itemsize for part in self._parts)

    def save(self, cache: Cache, length: int) -> memoryview | None:
        """A read-only view of one buffer, valid until the next save; None where memory is short."""
        size = self.size(length)
        if size > len(self._buffer):
            try:
                self._buffer = np.empty(size, np.uint8)
            except MemoryError:
                return None
        self._buffer[: _HEAD.size] = np.frombuffer(_HEAD.pack(self._mark, length), np.uint8)
        start = _HEAD.size
        for tensor, _ in caches.tensors(cache):
            data = tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy()
            self._buffer[start : start + len(data)] = data
            start += len(data)
        return self._buffer.data[:size].toreadonly()

    def length(self, state: bytes | memoryview) -> int:
        """How many tokens a state has; 0 for bytes that are none."""
        if len(state) < _HEAD.size:
            return 0
        mark, length = _HEAD.unpack_from(state)
        return int(length) if mark == self._mark and len(state) == self.size(length) else 0

    def load(self, state: bytes | memoryview) -> Cache:
        """The cache that was saved; `length` has found that it was."""
        cache = caches.twin(self._sample)
        caches.fill(cache, self._read(np.frombuffer(state, np.uint8), self.length(state)))
        return cache

    def _read(self, state: Bytes, length: int) -> Iterator[torch.Tensor]:
        start = _HEAD.size
        devices = [tensor.device for tensor, _ in caches.tensors(self._sample)]
        for part, size, device in zip(self._parts, self._sizes(length), devices, strict=True):
            # A copy: the bytes are the caller's, and may lie at any address.
            data = torch.from_numpy(state[start : start + size].copy())
            yield data.view(part.dtype).reshape(part.at(length)).to(device)
            start += size
