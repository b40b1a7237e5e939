"""Cleared memory goes back, used memory stays, and both read as before."""

import mmap
import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.backends.llama_cpp.blank_pages import _without, given_back

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone promises zeros")

SIZE = 64 << 20


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


def test_only_what_is_blank_takes_no_memory() -> None:
    with given_back():
        memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory[:] = bytes(SIZE)
        memory[SIZE // 2] = 7
        memory[-1] = 9
        full = resident()
    assert full - resident() > SIZE * 3 // 4
    assert (memory[SIZE // 2], memory[-1]) == (7, 9)
    assert memory.find(b"\x07") == SIZE // 2
    assert not any(memory[: SIZE // 2])


def test_what_was_there_before_stays() -> None:
    memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = bytes(SIZE)
    full = resident()
    with given_back():
        pass
    assert full - resident() < SIZE // 4
    assert len(memory) == SIZE


def test_a_file_that_is_mapped_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(bytes(SIZE))
    with path.open("r+b") as file, given_back():
        memory = mmap.mmap(file.fileno(), SIZE, flags=mmap.MAP_PRIVATE)
        memory[5] = 1
    assert memory[5] == 1


spans = st.lists(st.integers(0, 60), unique=True, max_size=12).map(
    lambda ends: [pair for pair in zip(*[iter(sorted(ends))] * 2, strict=False)]
)


@given(spans=spans, others=spans)
def test_parts_that_are_in_no_other(
    spans: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    def places(of: list[tuple[int, int]]) -> set[int]:
        return {place for start, end in of for place in range(start, end)}

    parts = list(_without(spans, others))
    assert places(parts) == places(spans) - places(others)
    assert all(start < end for start, end in parts)
