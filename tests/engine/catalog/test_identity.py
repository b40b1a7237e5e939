"""Weights are told apart, whatever they are called and wherever they lie."""

import os
from pathlib import Path

import pytest

from hubserve_engine.catalog.identity import identity

SIZE = 3_000_000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "model.gguf", b"w" * SIZE)


def write(path: Path, data: bytes, when: int = 1_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (when, when))
    return path


def cached(folder: Path, etag: str, data: bytes, when: int) -> Path:
    """A file as the Hub's cache has it."""
    blob = write(folder / "blobs" / etag, data, when)
    link = folder / "snapshots/abc/model.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    return link


def test_the_same_file_stays_the_same(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    moved = identity([model])
    assert identity([model]) == identity([link]) == moved
    assert identity([model.rename(tmp_path / "moved.gguf")]) == moved


@pytest.mark.parametrize("place", [0, 500_000, SIZE // 2, SIZE - 1])
def test_other_content_is_another_model(model: Path, place: int) -> None:
    before = identity([model])
    data = bytearray(b"w" * SIZE)
    data[place : place + 200_000] = b"x" * len(data[place : place + 200_000])
    write(model, bytes(data))
    assert identity([model]) != before


def test_another_size_or_time_is_another_model(model: Path) -> None:
    before = identity([model])
    write(model, b"w" * (SIZE + 1))
    longer = identity([model])
    write(model, b"w" * SIZE, when=2_000_000)
    assert len({before, longer, identity([model])}) == 3


def test_a_small_file_has_an_identity(tmp_path: Path) -> None:
    files = [write(tmp_path / str(n), data) for n, data in enumerate((b"", b"a", b"b"))]
    assert len({identity([file]) for file in files}) == 3


def test_all_parts_count(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", b"one"), write(tmp_path / "2", b"two")
    assert len({identity(parts) for parts in ([one, two], [two, one], [one], [two])}) == 4


@pytest.mark.parametrize("etag", ["0a" * 32, "0123456789" * 4])
def test_the_hub_s_hash_is_enough(tmp_path: Path, etag: str) -> None:
    """Downloaded twice, it is the same; nothing of it is read."""
    one = cached(tmp_path / "one", etag, b"", when=1)
    two = cached(tmp_path / "two", etag, b"whatever", when=2)
    other = cached(tmp_path / "three", etag[::-1], b"", when=1)
    assert identity([one]) == identity([two]) != identity([other])


def test_a_folder_that_is_called_blobs_by_chance_proves_nothing(tmp_path: Path) -> None:
    one = cached(tmp_path / "one", "latest", b"one", when=1)
    two = cached(tmp_path / "two", "latest", b"two", when=1)
    assert identity([one]) != identity([two])


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        identity([tmp_path / "nowhere.gguf"])
