"""What is kept, found again, evicted and thrown away, as the worker sees it."""

import errno
import logging
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubserve_engine.prefix_store.folder import Folder
from hubserve_engine.prefix_store.store import Entry, PrefixStore

KEY = "weights abc k=f16"
LARGE = 1 << 30

Open = Callable[..., PrefixStore]


@pytest.fixture
def open_(tmp_path: Path) -> Open:
    def opened(key: str = KEY, limit: int = LARGE) -> PrefixStore:
        return PrefixStore(tmp_path, key, limit)

    return opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prefixes"


def states(store: PrefixStore) -> dict[tuple[int, ...], bytes]:
    found = {}
    for entry in store.entries():
        state = store.load(entry)
        assert state is not None
        found[tuple(entry.tokens.tolist())] = bytes(state)
    return found


def save(store: PrefixStore, *tokens: int, size: int = 1000, supersede: bool = False) -> Entry:
    entry = store.save(tokens, bytes([tokens[0]]) * size, supersede=supersede)
    assert entry is not None
    return entry


def age(folder: Path, entry: Entry, seconds: int) -> None:
    """As if it had last been used so long ago."""
    path = folder / entry.name
    used = path.stat().st_mtime - seconds
    os.utime(path, (used, used))


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.p*"))


def test_what_was_saved_is_there_the_next_time(open_: Open) -> None:
    first = open_()
    entry = first.save([1, 2, 3], b"state of three")
    assert entry is not None
    assert (entry.tokens.tolist(), entry.size) == ([1, 2, 3], 14)
    assert first.save(np.array([1, 2], np.int32), memoryview(b"state of two")) is not None
    assert states(first) == {(1, 2, 3): b"state of three", (1, 2): b"state of two"}
    assert states(open_()) == states(first)


def test_a_large_state_is_written_with_rests(open_: Open) -> None:
    """A portion of a megabyte, for its checksum and then for the file."""
    rests: list[float] = []
    state = random.Random(1).randbytes((2 << 20) + 5)
    entry = open_().save((1, 2), state, rest=rests.append)
    assert entry is not None
    assert len(rests) == 2 * 3
    assert bytes(open_().load(entry) or b"") == state


def test_another_key_has_prefixes_of_its_own(open_: Open) -> None:
    save(open_(), 1, 2)
    other = open_("weights abc k=q8_0")
    assert other.entries() == []
    save(other, 1, 2, size=5)
    assert states(open_()) == {(1, 2): b"\x01" * 1000}


def test_what_another_process_saved_is_seen(open_: Open) -> None:
    one, two = open_(), open_()
    assert one.entries() == []
    save(two, 7, 8)
    assert list(states(one)) == [(7, 8)]


def test_what_is_there_is_not_written_again(open_: Open, folder: Path) -> None:
    entry = save(open_(), 1, 2)
    written = (folder / entry.name).stat().st_ino
    age(folder, entry, 1000)
    used = (folder / entry.name).stat().st_mtime
    again = save(open_(), 1, 2)
    assert (folder / again.name).stat().st_ino == written
    assert (folder / again.name).stat().st_mtime > used


def test_the_files_are_for_the_user_alone(open_: Open, folder: Path) -> None:
    previous = os.umask(0)
    try:
        save(open_(), 1)
    finally:
        os.umask(previous)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_folder_that_others_could_read_is_closed_to_them(open_: Open, folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    open_()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_was_not_used_for_longest_makes_room(open_: Open, folder: Path) -> None:
    store = open_(limit=3500)
    entries = [save(store, n) for n in (1, 2, 3)]
    for entry, seconds in zip(entries, (30, 20, 10), strict=True):
        age(folder, entry, seconds)
    assert store.load(entries[0]) is not None
    save(store, 4)
    assert set(states(store)) == {(1,), (3,), (4,)}
    age(folder, entries[2], 100)
    store.touch(entries[2])
    save(store, 5)
    assert (3,) in states(store)
    assert store.load(entries[1]) is None


def test_prefixes_of_other_keys_count_and_make_room(open_: Open, folder: Path) -> None:
    other = open_("another model", limit=3500)
    old = save(other, 9, size=2000)
    age(folder, old, 100)
    store = open_(limit=3500)
    save(store, 1)
    assert len(other.entries()) == 1
    save(store, 2)
    assert other.entries() == []
    assert set(states(store)) == {(1,), (2,)}


def test_what_is_larger_than_the_limit_changes_nothing(open_: Open) -> None:
    store = open_(limit=3500)
    save(store, 1)
    assert store.save([2], bytes(3500)) is None
    assert list(states(store)) == [(1,)]


def test_a_longer_prefix_takes_the_place_of_its_beginnings(open_: Open) -> None:
    store = open_()
    for tokens in ((1,), (1, 2), (1, 3), (2, 2)):
        save(store, *tokens)
    save(store, 1, 2, 3)
    assert len(store.entries()) == 5
    save(store, 1, 2, 3, 4, supersede=True)
    assert set(states(store)) == {(1, 3), (2, 2), (1, 2, 3, 4)}
    assert states(open_()) == states(store)


def test_beginnings_make_room_before_others_do(open_: Open, folder: Path) -> None:
    store = open_(limit=2500)
    age(folder, save(store, 9), 1000)
    save(store, 1, 2)
    save(store, 1, 2, 3, supersede=True)
    assert set(states(store)) == {(9,), (1, 2, 3)}


def test_what_is_removed_is_gone(open_: Open, folder: Path) -> None:
    store = open_()
    entry = save(store, 1)
    store.remove(entry)
    store.remove(entry)
    store.touch(entry)
    assert store.entries() == []
    assert store.load(entry) is None
    assert files(folder) == []


def test_a_store_goes_on_after_it_was_cleared(open_: Open, tmp_path: Path, folder: Path) -> None:
    store = open_()
    entry = save(store, 1)
    assert Folder(tmp_path).clear().files == 1
    assert store.load(entry) is None
    assert store.entries() == []
    save(store, 2)
    shutil.rmtree(folder)
    assert store.entries() == []
    save(store, 3)
    assert list(states(store)) == [(3,)]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_disk_that_takes_no_more_is_told_once(
    open_: Open,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
) -> None:
    store = open_()
    write = os.write
    written = []

    def full(descriptor: int, data: Any) -> int:
        written.append(len(data))
        if len(data) < 500:
            return write(descriptor, data)
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(os, "write", full)
        assert store.save([1], bytes(1000)) is None
        assert store.save([2], bytes(1000)) is None
    assert len(written) == 4
    assert files(folder) == []
    (record,) = caplog.records
    assert os.strerror(code) in record.getMessage() and str(folder) in record.getMessage()
    save(store, 1)


def test_a_write_may_take_several_calls(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:100]))
        open_().save([1, 2], bytes(range(256)) * 4)
    assert states(open_()) == {(1, 2): bytes(range(256)) * 4}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_a_damaged_file_is_thrown_away(open_: Open, folder: Path, data: st.DataObject) -> None:
    store = open_()
    entry = save(store, 1, 2, 3, size=100)
    good = save(store, 4, size=100)
    path = folder / entry.name
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:place])
    else:
        changed = bytearray(whole)
        changed[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(changed)

    # One that had it open, and one that finds it.
    if data.draw(st.booleans()):
        assert store.load(entry) is None
    else:
        again = open_()
        found = {each.name: each for each in again.entries()}
        assert entry.name not in found or again.load(found[entry.name]) is None
    assert not path.exists()
    assert bytes(store.load(good) or b"") == b"\x04" * 100


def test_a_file_under_the_name_of_another_is_thrown_away(open_: Open, folder: Path) -> None:
    store = open_()
    one, two = save(store, 1), save(store, 2)
    (folder / one.name).replace(folder / two.name)
    assert open_().entries() == []
    assert files(folder) == []
    assert store.load(two) is None


def test_files_that_are_not_ours_are_left_alone(open_: Open, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "my.prefix").write_text("mine")
    link = folder / f"{'0' * 32}-{'0' * 32}.prefix"
    link.symlink_to(folder / "notes.txt")
    store = open_(limit=1500)
    save(store, 1)
    save(store, 2)
    assert [tuple(e.tokens) for e in store.entries()] == [(2,)]
    Folder(folder.parent).clear()
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "my.prefix").read_text() == "mine"
    assert link.is_symlink()
