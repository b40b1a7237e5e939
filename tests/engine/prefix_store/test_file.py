"""Files that are whole, and files that are not."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.prefix_store.file import DIGEST, head, read_header, read_state, size_of

KEY = bytes(range(DIGEST))
TOKENS = np.array([5, 0, 70_000, 2**31 - 1, -1], np.int32)
STATE = random.Random(1).randbytes(300)
WHOLE = head(KEY, TOKENS, [memoryview(STATE)]) + STATE


@pytest.fixture(scope="module")
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "file"


@given(
    tokens=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=50),
    state=st.binary(min_size=1, max_size=200),
    key=st.binary(min_size=DIGEST, max_size=DIGEST),
)
def test_what_is_written_comes_back(
    path: Path, tokens: list[int], state: bytes, key: bytes
) -> None:
    array = np.array(tokens, np.int32)
    portions = [memoryview(state)[:7], memoryview(state)[7:]]
    path.write_bytes(head(key, array, portions) + state)
    assert path.stat().st_size == size_of(len(tokens), len(state))
    header = read_header(path, key)
    assert header is not None
    assert (header.tokens.tolist(), header.length) == (tokens, len(state))
    assert bytes(read_state(path, key, array) or b"") == state


def test_another_key_is_no_key(path: Path) -> None:
    path.write_bytes(WHOLE)
    assert read_header(path, bytes(DIGEST)) is None
    assert read_state(path, bytes(DIGEST), TOKENS) is None


def test_the_state_of_other_tokens_is_not_taken(path: Path) -> None:
    path.write_bytes(WHOLE)
    assert bytes(read_state(path, KEY, TOKENS) or b"") == STATE
    assert read_state(path, KEY, TOKENS[:-1]) is None
    assert read_state(path, KEY, TOKENS + np.int32(1)) is None


@given(st.integers(0, len(WHOLE)), st.binary(max_size=40))
def test_what_is_shorter_or_longer_is_not_taken(path: Path, length: int, more: bytes) -> None:
    data = WHOLE[:length] + more
    path.write_bytes(data)
    if data != WHOLE:
        assert read_state(path, KEY, TOKENS) is None


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_byte_that_changed_is_noticed(path: Path, place: int, change: int) -> None:
    data = bytearray(WHOLE)
    data[place] ^= change
    path.write_bytes(data)
    assert read_state(path, KEY, TOKENS) is None
    if place < len(WHOLE) - len(STATE):
        assert read_header(path, KEY) is None


@given(st.binary(max_size=600))
def test_garbage_is_no_file(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert read_header(path, KEY) is None
    assert read_state(path, KEY, TOKENS) is None


@given(st.binary(min_size=12, max_size=12), st.binary(max_size=100))
def test_numbers_that_are_huge_cost_nothing(path: Path, numbers: bytes, rest: bytes) -> None:
    """A head that begins as it should, and then tells of terabytes."""
    path.write_bytes(WHOLE[: 12 + DIGEST] + numbers + rest)
    assert read_header(path, KEY) is None


def test_a_view_outlives_its_file(path: Path) -> None:
    path.write_bytes(WHOLE)
    found = read_state(path, KEY, TOKENS)
    path.unlink()
    assert found is not None and found.readonly
    assert bytes(found) == STATE
