"""What is settled about the disk before a worker starts."""

from pathlib import Path

import pytest

from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.disk_cache import Settled, settle
from hubserve_engine.prefix_store.store import PrefixStore


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def config(cache_dir: Path | None, cache_disk: int = 1 << 20) -> EngineConfig:
    return EngineConfig(ModelConfig("model"), cache_dir=cache_dir, cache_disk=cache_disk)


def test_the_worker_is_told_where_and_for_what(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = settle(config(cache), (model,))
    assert first.cache is not None and first.use is not None
    assert (first.cache.folder, first.cache.limit) == (str(cache), 1 << 20)
    assert (first.use.used, first.use.limit) == (0, 1 << 20)
    PrefixStore(Path(first.cache.folder), first.cache.weights, first.cache.limit).save([1], b"x")
    again = settle(config(cache), (model,))
    assert again.cache == first.cache
    assert again.use is not None and again.use.used > 1
    assert Path(again.use.folder).is_dir()
    model.write_bytes(b"others!")
    other = settle(config(cache), (model,))
    assert other.cache is not None and other.cache.weights != first.cache.weights


def test_the_usual_folder_is_taken(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUBSERVE_CACHE_DIR", str(tmp_path / "usual"))
    settled = settle(config(None), (model,))
    assert settled.cache is not None and settled.cache.folder == str(tmp_path / "usual")


def test_a_relative_folder_is_where_the_server_was_started(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settled = settle(config(Path("cache")), (model,))
    assert settled.cache is not None and settled.cache.folder == str(tmp_path / "cache")


def test_no_disk_no_folder(model: Path, tmp_path: Path) -> None:
    assert settle(config(tmp_path / "cache", 0), (model,)) == Settled()
    assert not (tmp_path / "cache").exists()


def test_a_folder_whose_name_is_no_text_is_not_used(model: Path, tmp_path: Path) -> None:
    settled = settle(config(tmp_path / "\udcff"), (model,))
    assert settled.cache is None
    assert "not UTF-8" in settled.notices[0]
    settled.notices[0].encode()


def test_without_a_folder_the_server_runs_and_says_so(model: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    settled = settle(config(tmp_path / "cache"), (model,))
    assert settled.cache is None and settled.use is None
    (notice,) = settled.notices
    assert str(tmp_path / "cache") in notice and "not a directory" in notice
    assert "--cache-dir" in notice and "--cache-disk 0" in notice
