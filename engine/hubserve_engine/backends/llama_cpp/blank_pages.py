"""Memory that llama.cpp has cleared but not used goes back to the system until it is.

It sets the whole state of a context to zeros when it makes it, so a context of 32768 tokens takes
its gigabyte from the start, however short the chats are. A page of private memory that is given
back reads as zeros when it is next touched, so nobody can tell the difference but by the memory
that is free.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LEAST = 1 << 24
"""Bytes of a new mapping; what else may come into being meanwhile is smaller."""
_BLOCK = 1 << 21
_DONTNEED = 4
"""MADV_DONTNEED of Linux (include/uapi/asm-generic/mman-common.h)."""

Span = tuple[int, int]
"""Addresses, from the first byte to the one after the last."""


@contextmanager
def given_back() -> Iterator[None]:
    """What large memory comes into being inside the block and is all zeros after it takes no
    memory until it is used. No other thread may write to such memory when the block ends."""
    if sys.platform != "linux":
        yield  # elsewhere such advice is no promise of zeros
        return
    before = _private()
    yield
    for start, end in _without(_private(), before):
        if end - start >= _LEAST:
            _give_back(start, end)


def _give_back(start: int, end: int) -> None:
    library = ctypes.CDLL(None)
    compare, advise = library.memcmp, library.madvise
    compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    zeros = ctypes.create_string_buffer(_BLOCK)
    for address in range(start, end - _BLOCK + 1, _BLOCK):
        if compare(address, ctypes.addressof(zeros), _BLOCK) == 0:
            advise(address, _BLOCK, _DONTNEED)


def _private() -> list[Span]:
    """Where this process has writable memory that is its own and of no file, in order."""
    spans = []
    with open("/proc/self/maps", "rb") as maps:  # names of files need not be text
        for line in maps:
            addresses, rights, _, _, *file = line.split()
            if rights == b"rw-p" and file == [b"0"]:  # neither a file nor a name such as [heap]
                start, end = addresses.split(b"-")
                spans.append((int(start, 16), int(end, 16)))
    return spans


def _without(spans: list[Span], others: list[Span]) -> Iterator[Span]:
    """The parts of `spans` that are in none of `others`."""
    for start, end in spans:
        for other_start, other_end in others:
            if other_end <= start or other_start >= end:
                continue
            if start < other_start:
                yield start, other_start
            start = max(start, other_end)
        if start < end:
            yield start, end
