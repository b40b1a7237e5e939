from pathlib import Path

from hubserve_engine.catalog.hub_cache import HubCache
from hubserve_engine.catalog.model_id import HubModel

MODEL = HubModel("owner/name")
COMMIT = "a" * 40


def _cache(folder: Path) -> HubCache:
    """A cache as the library leaves it: a link in a snapshot, to a blob, to a shared blob."""
    repository = folder / "models--owner--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "blobs").mkdir()
    (folder / "blobs").mkdir()
    (folder / "blobs" / "shared").write_bytes(b"content")
    (repository / "blobs" / "etag").symlink_to("../../blobs/shared")
    snapshot = repository / "snapshots" / COMMIT / "sub"
    snapshot.mkdir(parents=True)
    (snapshot / "a.gguf").symlink_to("../../../blobs/etag")
    (snapshot / "gone.gguf").symlink_to("../../../blobs/gone")
    return HubCache(folder)


def test_a_revision_has_the_commit_that_was_last_seen(tmp_path: Path) -> None:
    cache = _cache(tmp_path)
    assert cache.commit(MODEL) == COMMIT
    assert cache.commit(HubModel("owner/name", "v1")) == "v1"
    assert cache.commit(HubModel("owner/other")) == "main"


def test_only_files_that_are_whole_are_there(tmp_path: Path) -> None:
    cache = _cache(tmp_path)
    assert cache.files(MODEL, COMMIT) == ["sub/a.gguf"]
    assert cache.find(MODEL, COMMIT, "sub/gone.gguf") is None
    found = cache.find(MODEL, COMMIT, "sub/a.gguf")
    assert found and found.read_bytes() == b"content"


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path) -> None:
    cache = HubCache(tmp_path / "none")
    assert cache.files(MODEL, COMMIT) == []
    assert cache.free()[0] == tmp_path


def test_branches_and_tags_are_remembered(tmp_path: Path) -> None:
    cache = _cache(tmp_path)
    cache.remember(MODEL, "b" * 40)
    cache.remember(HubModel("owner/name", "refs/pr/1"), "c" * 40)
    cache.remember(HubModel("owner/name", "d" * 40), "d" * 40)
    assert cache.commit(MODEL) == "b" * 40
    assert cache.commit(HubModel("owner/name", "refs/pr/1")) == "c" * 40
    assert not (tmp_path / "models--owner--name" / "refs" / ("d" * 40)).exists()


def test_blobs_and_their_locks_are_where_the_library_has_them(tmp_path: Path) -> None:
    cache = HubCache(tmp_path)
    assert cache.blob(MODEL, "etag") == tmp_path / "models--owner--name" / "blobs" / "etag"
    assert cache.lock(MODEL, "etag") == tmp_path / ".locks" / "models--owner--name" / "etag.lock"
