"""Reading beside the steps."""

import threading
from pathlib import Path

import numpy as np
import pytest

from hubserve_engine.prefix_store.reader import PrefixReader
from hubserve_engine.prefix_store.store import Entry, PrefixStore


@pytest.fixture
def store(tmp_path: Path) -> PrefixStore:
    return PrefixStore(tmp_path, "a model", 1 << 20)


def saved(store: PrefixStore, *tokens: int) -> Entry:
    entry = store.save(np.array(tokens, np.int32), bytes(tokens))
    assert entry is not None
    return entry


def until_ready(reader: PrefixReader, entry: Entry) -> None:
    while not reader.ready(entry):
        threading.Event().wait(0.001)


def test_it_is_read_while_others_go_on(store: PrefixStore) -> None:
    entry = saved(store, 1, 2)
    reader = PrefixReader(store)
    until_ready(reader, entry)
    state = reader.take(entry)
    assert state is not None
    assert bytes(state) == b"\1\2"


def test_who_asks_unprepared_waits(store: PrefixStore) -> None:
    state = PrefixReader(store).take(saved(store, 3))
    assert state is not None
    assert bytes(state) == b"\3"


def test_one_after_the_other(store: PrefixStore) -> None:
    """Two that wait do not begin anew for ever."""
    one, two = saved(store, 1), saved(store, 2)
    reader = PrefixReader(store)
    until_ready(reader, one)
    until_ready(reader, two)
    states = [reader.take(entry) for entry in (two, one)]
    assert [bytes(state) for state in states if state is not None] == [b"\2", b"\1"]


def test_what_is_gone_is_ready_and_nothing(store: PrefixStore) -> None:
    entry = saved(store, 1)
    store.remove(entry)
    reader = PrefixReader(store)
    until_ready(reader, entry)
    assert reader.take(entry) is None


def test_what_nobody_wants_is_forgotten(store: PrefixStore) -> None:
    entry = saved(store, 1)
    reader = PrefixReader(store)
    until_ready(reader, entry)
    store.remove(entry)
    reader.forget()
    assert reader.take(entry) is None
