"""Locks, and who has given them up."""

import os
from pathlib import Path

import pytest

from hubserve_engine.prefix_store import lock


def test_a_lock_is_held_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PATIENCE", 0.05)
    refused = pytest.raises(TimeoutError, match="another process")
    with lock.held(tmp_path / "lock"), refused, lock.held(tmp_path / "lock"):
        pass
    with lock.held(tmp_path / "lock"):
        pass


def test_a_file_that_nobody_holds_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with lock.held(file):
        assert not lock.abandoned(file)
        assert file.exists()
    assert lock.abandoned(file)
    assert not file.exists()
    assert lock.abandoned(file)


def test_what_was_taken_is_free_once_it_is_closed(tmp_path: Path) -> None:
    one, two = (os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR) for _ in range(2))
    assert lock.take(one)
    assert not lock.take(two)
    os.close(one)
    assert lock.take(two)
    os.close(two)
