"""States are written beside the steps, few at a time."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.process import SAFETY

from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.prefix_store.writer import PrefixWriter


class SlowStore(PrefixStore):
    """Waits before each save until it may go on; `begun` counts them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "key", 1 << 20)
        self.may = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)

    def save(self, *arguments: Any, **named: Any) -> Entry | None:
        self.begun.release()
        assert self.may.acquire(timeout=SAFETY)
        return super().save(*arguments, **named)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SlowStore]:
    store = SlowStore(tmp_path)
    yield store
    store.may.release(100)


def tokens(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def test_what_is_handed_over_is_written_and_told(store: SlowStore) -> None:
    told: list[Entry] = []
    writer = PrefixWriter(store, told.append)
    assert writer.flush(0)
    assert writer.submit(tokens(1, 2), b"state")
    assert not writer.flush(0.01)
    store.may.release()
    assert writer.flush(SAFETY)
    assert [entry.tokens.tolist() for entry in told] == [[1, 2]]
    assert bytes(store.load(told[0]) or b"") == b"state"


def test_no_more_than_two_wait(store: SlowStore) -> None:
    told: list[Entry] = []
    writer = PrefixWriter(store, told.append)
    assert writer.submit(tokens(1), b"1")
    assert store.begun.acquire(timeout=SAFETY)
    assert not writer.full
    assert writer.submit(tokens(2), b"2")
    assert writer.submit(tokens(3), b"3")
    assert writer.full
    assert not writer.submit(tokens(4), b"4")
    assert not writer.submit(tokens(3, 4), b"34")
    assert writer.submit(tokens(3, 4), b"34", supersede=True)
    store.may.release(10)
    assert writer.flush(SAFETY)
    assert [entry.tokens.tolist() for entry in told] == [[1], [2], [3, 4]]


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority of its own")
def test_it_gives_way_to_the_steps(tmp_path: Path) -> None:
    found: list[int] = []

    def told(_entry: Entry) -> None:
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    writer = PrefixWriter(PrefixStore(tmp_path, "key", 1 << 20), told)
    assert writer.submit(tokens(1), b"state")
    assert writer.flush(SAFETY)
    assert found[0] > os.getpriority(os.PRIO_PROCESS, 0)


def test_what_cannot_be_saved_is_not_told(tmp_path: Path) -> None:
    told: list[Entry] = []
    writer = PrefixWriter(PrefixStore(tmp_path, "key", 100), told.append)
    assert writer.submit(tokens(1), bytes(1000))
    assert writer.submit(tokens(2), bytes(10))
    assert writer.flush(SAFETY)
    assert [entry.tokens.tolist() for entry in told] == [[2]]
