"""Room for another export: what goes for it, what stays, and what is said where there is none."""

import os
import shutil
from pathlib import Path

import pytest
from tests.support.gguf_builder import write_gguf

from hubserve_engine.exports.room import make_room
from hubserve_engine.exports.store import Export, ExportStore
from hubserve_exporters.errors import ExportError

A, B, C, NEW = "a" * 32, "b" * 32, "c" * 32, "d" * 32
LARGE = 1 << 40


class Cache:
    """Three exports of one size, `A` used first and `C` last, and one to be made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.store = ExportStore(folder)
        self.gone: list[str] = []
        self.exports = {key: self._add(key, 1000 * n) for n, key in enumerate((A, B, C), 1)}
        self.size = self.exports[A].size
        (self.store.path / NEW).mkdir()

    def _add(self, key: str, used: float) -> Export:
        path = write_gguf(self.store.path / key / "m-Q8_0.gguf")
        export = Export(key, "o/m", "q8_0", path.name, path.stat().st_size)
        self.store.add(export)
        os.utime(self.store.path / key / "export.json", (used, used))
        return export

    def make_room(self, needed: int, limit: int = LARGE, free: int = LARGE) -> list[str]:
        """What is there after it; the disk has `free` bytes and what is removed."""
        usage = shutil.disk_usage(self.store.path)._replace(free=free)
        self._monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with self.store.alone(NEW, waiting=lambda: pytest.fail("nobody else is there")):
            make_room(self.store, NEW, needed, limit, lambda export: self.gone.append(export.key))
        return self.there()

    def there(self) -> list[str]:
        return sorted(export.key for export, _ in self.store.all())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    return Cache(tmp_path, monkeypatch)


def test_nothing_goes_where_there_is_room(cache: Cache) -> None:
    assert cache.make_room(cache.size, limit=4 * cache.size) == [A, B, C]
    assert cache.make_room(cache.size, free=cache.size) == [A, B, C]
    assert cache.gone == []


@pytest.mark.parametrize("short", ["limit", "disk"])
def test_what_was_not_used_for_longest_goes_and_no_more_than_that(cache: Cache, short: str) -> None:
    if short == "limit":
        assert cache.make_room(2 * cache.size, limit=4 * cache.size) == [B, C]
    else:
        assert cache.make_room(2 * cache.size, free=cache.size) == [B, C]
    assert cache.gone == [A]


def test_what_is_in_use_stays(cache: Cache) -> None:
    cache.store.hold(cache.exports[A])
    with cache.store.alone(B, waiting=lambda: pytest.fail("nobody else is there")):
        assert cache.make_room(cache.size, free=0) == [A, B]


@pytest.mark.parametrize("short", ["limit", "disk"])
def test_where_it_would_not_be_enough_nothing_goes(cache: Cache, short: str) -> None:
    cache.store.hold(cache.exports[B])
    with pytest.raises(ExportError) as caught:
        if short == "limit":
            cache.make_room(3 * cache.size, limit=3 * cache.size)
        else:
            cache.make_room(3 * cache.size, free=cache.size // 2)
    said = str(caught.value)
    assert ("name a larger --export-disk" in said) == (short == "limit")
    assert ("--cache-dir" in said) == (short == "disk")
    assert cache.there() == [A, B, C] and cache.gone == []


def test_what_others_make_now_counts_with_all_that_it_will_take(
    cache: Cache, tmp_path: Path
) -> None:
    other = "e" * 32
    with cache.store.alone(other, waiting=lambda: pytest.fail("nobody else is there")):
        (cache.store.path / other).mkdir()
        cache.store.claim(other, 2 * cache.size)
        assert cache.make_room(cache.size, limit=5 * cache.size) == [B, C]
        assert cache.make_room(cache.size, free=2 * cache.size) == [C]
        (cache.store.path / other / "m.gguf").write_bytes(bytes(2 * cache.size))
        assert cache.make_room(cache.size, free=cache.size) == [C]
    # What the dead have claimed does not.
    assert cache.make_room(cache.size, limit=2 * cache.size) == [C]
    assert not (cache.store.path / other).exists()


def test_what_is_made_is_not_claimed_any_more(cache: Cache) -> None:
    assert cache.make_room(cache.size) == [A, B, C]
    with cache.store.alone(NEW, waiting=lambda: pytest.fail("nobody else is there")):
        assert [size for size, _ in cache.store.claims(but="")] == [cache.size]
    path = write_gguf(cache.store.path / NEW / "m.gguf")
    cache.store.add(Export(NEW, "o/m", "q8_0", path.name, path.stat().st_size))
    assert [path.name for path in (cache.store.path / NEW).glob("*claim*")] == []
    assert cache.store.claims(but="") == []
