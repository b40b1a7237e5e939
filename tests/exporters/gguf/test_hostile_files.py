"""Whatever the bytes are: an answer or a GGUFError, and soon, and in little memory."""

import mmap
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fetched import real_model

from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import GGUFFile, open_gguf

FIXTURE = Path(__file__).parents[2] / "fixtures" / "tiny-qwen35.gguf"
REAL = FIXTURE.read_bytes()
with open_gguf(FIXTURE) as _file:
    REAL_HEADER_BYTES = _file.data_offset

BORDERS = [2**bits + delta for bits in (0, 7, 8, 15, 16, 31, 32, 62, 63, 64) for delta in (-1, 0)]


def read_all(content: bytes | mmap.mmap) -> None:
    """Opens these bytes as a file's and looks at everything that they hold."""
    try:
        file = GGUFFile(memoryview(content))
        for value in file.metadata.values():
            if not isinstance(value, int | float | str):
                list(value)
    except GGUFError as error:
        assert str(error)
        return
    for name, info in file.tensors.items():
        assert len(file.tensor(name)) == info.size


@given(st.binary(max_size=2000))
@settings(deadline=None)
def test_any_bytes(content: bytes) -> None:
    read_all(content.ljust(24, b"\0"))


@given(st.sampled_from([2, 3]), st.integers(0, 5), st.integers(0, 5), st.binary(max_size=2000))
@settings(deadline=None)
def test_any_bytes_behind_a_header(version: int, tensors: int, keys: int, content: bytes) -> None:
    read_all(b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + content)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_real_file_with_changed_bytes(data: st.DataObject) -> None:
    content = bytearray(REAL)
    position = st.integers(0, REAL_HEADER_BYTES - 1)
    for where, byte in data.draw(st.lists(st.tuples(position, st.integers(0, 255)), max_size=8)):
        content[where] = byte
    read_all(bytes(content))


@given(st.integers(4, REAL_HEADER_BYTES - 8), st.sampled_from([4, 8]), st.sampled_from(BORDERS))
@settings(max_examples=300, deadline=None)
def test_a_real_file_with_a_number_at_a_border(where: int, width: int, number: int) -> None:
    content = bytearray(REAL)
    content[where : where + width] = number.to_bytes(9, "little")[:width]
    read_all(bytes(content))


@given(st.integers(24, REAL_HEADER_BYTES - 1), st.integers(0, 64), st.binary(max_size=64))
@settings(max_examples=300, deadline=None)
def test_a_real_file_with_a_piece_put_in_or_taken_out(where: int, out: int, piece: bytes) -> None:
    read_all(REAL[:where] + piece + REAL[where + out :])


@given(st.integers(24, len(REAL) - 1))
@settings(deadline=None)
def test_a_real_file_cut_anywhere_is_refused(size: int) -> None:
    with pytest.raises(GGUFError):
        GGUFFile(memoryview(REAL[:size]))


@pytest.mark.model
def test_a_model_that_people_use_with_changed_bytes() -> None:
    path = real_model("smollm2")
    with open_gguf(path) as file:
        header_bytes = file.data_offset
    # Its vocabulary is most of the header; the ends are where the structure is.
    position = st.one_of(
        st.integers(0, 4000),
        st.integers(header_bytes - 20_000, header_bytes - 1),
        st.integers(0, header_bytes - 1),
    )

    @given(st.dictionaries(position, st.integers(0, 255), max_size=8))
    @settings(deadline=None)
    def change(changes: dict[int, int]) -> None:
        with path.open("rb") as source:
            content = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_COPY)
        for where, byte in changes.items():
            content[where] = byte
        read_all(content)

    change()


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def key(name: str, kind: int, *raw: bytes) -> bytes:
    return u64(len(name)) + name.encode() + u32(kind) + b"".join(raw)


def header(tensors: int, keys: int) -> bytes:
    return b"GGUF" + u32(3) + u64(tensors) + u64(keys)


def many_of_everything() -> Iterator[bytes]:
    """As many strings, keys and tensors as are accepted, all at once."""
    yield header(2**16, 2**16) + key("tokens", 9, u32(8), u64(2**21), bytes(8 * 2**21))
    smile = "🙂".encode() * 100
    for index in range(2**16 - 1):
        yield key(f"{index:05}", 8, u64(len(smile)), smile)
    for index in range(2**16):
        yield u64(63) + b"%063d" % index
        yield struct.pack("<I4QIQ", 4, 32, 1, 1, 1, 8, 64 * index)
    yield bytes(64 * 2**16)


def wide_text() -> Iterator[bytes]:
    """A text that would take four times its bytes in memory."""
    content = "€".encode() * 21_000_000 + "🙂".encode()
    yield header(0, 1) + key("text", 8, u64(len(content)), content)


def long_keys() -> Iterator[bytes]:
    yield header(0, 1020)
    for index in range(1020):
        yield key(f"{index:065535}", 4, u32(1))


def bools() -> Iterator[bytes]:
    count = 2**26 - 64
    yield header(0, 1) + key("bools", 9, u32(7), u64(count), b"\1" * count)


def small_arrays() -> Iterator[bytes]:
    yield header(0, 2**16)
    for index in range(2**16):
        yield key(f"{index:05}", 9, u32(8), u64(30), (u64(20) + b"x" * 20) * 30)


def large_numbers() -> Iterator[bytes]:
    """Two gigabytes of numbers, as they are found in no model; the file has holes."""
    yield header(0, 1) + key("numbers", 9, u32(12), u64(2**28 - 100))


def far_strings() -> Iterator[bytes]:
    """Strings of which each is on a memory page of its own."""
    yield header(0, 1) + key("tokens", 9, u32(8), u64(2**19))
    for _ in range(2**15):
        yield u64(4088) + bytes(4088)


MEASURE = """
import resource, sys
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.errors import GGUFError
try:
    file = open_gguf(sys.argv[1])
    print("read")
except GGUFError:
    print("refused")
usage = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss: a process takes that over from the one that started it.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(usage.ru_utime + usage.ru_stime, int(peak.split()[1]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize(
    ("content", "outcome", "size"),
    [
        (many_of_everything, "read", None),
        (wide_text, "read", None),
        (long_keys, "read", None),
        (bools, "read", None),
        (small_arrays, "read", None),
        (large_numbers, "refused", 2**31),
        (far_strings, "refused", 2**31),
    ],
)
def test_a_giant_takes_under_two_seconds_and_256_megabytes(
    tmp_path: Path, content: Callable[[], Iterator[bytes]], outcome: str, size: int | None
) -> None:
    path = tmp_path / "giant.gguf"
    with path.open("wb") as out:
        out.writelines(content())
        if size is not None:
            out.truncate(size)
    # The contract counts the processor's time, which a busy machine does not change.
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    path.unlink()
    answer, measured = run.stdout.splitlines()
    seconds, memory = map(float, measured.split())
    assert answer == outcome
    assert seconds < 2
    assert memory < 256e6
