import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from filelock import FileLock
from huggingface_hub import constants
from tests.support.hub_fixtures import REPO, TINY, cache, hub, server
from tests.support.hub_repo import Repo
from tests.support.hub_server import Fault, HubServer

from hubserve_engine.catalog import hub_download
from hubserve_engine.catalog.hub import Hub
from hubserve_engine.catalog.hub_download import partial_of
from hubserve_engine.catalog.model_id import HubModel, parse
from hubserve_engine.errors import ResolveError

__all__ = ["cache", "hub", "server"]

FILE = "Tiny-Q4_K_M.gguf"


def _fetch(hub: Hub, *paths: str, revision: str | None = None) -> tuple[Path, ...]:
    listing = hub.list(HubModel(REPO, revision, paths[0]))
    return hub.fetch(listing, paths, lambda sentence: None)


def _downloads(server: HubServer) -> list[str]:
    return [seen.headers.get("Range", "whole") for seen in server.seen if "/blobs/" in seen.path]


def _left_over(cache: Path) -> list[str]:
    kept = ("CACHEDIR.TAG", ".lock")
    return [p.name for p in cache.rglob("*") if p.is_file() and not p.name.endswith(kept)]


def test_the_listing_has_files_sizes_and_hashes(hub: Hub) -> None:
    files = {file.path: file for file in hub.list(HubModel(REPO)).files}
    assert list(files) == ["README.md", FILE, "Tiny-Q8_0.gguf", "sub/Tiny-F16.gguf"]
    assert files[FILE].size == TINY.stat().st_size
    assert files[FILE].sha256 and not files["README.md"].sha256


def test_a_file_is_downloaded_once(hub: Hub, server: HubServer) -> None:
    said: list[str] = []
    listing = hub.list(HubModel(REPO))
    (path,) = hub.fetch(listing, [FILE], said.append)
    assert path.read_bytes() == TINY.read_bytes()
    assert said == [f"Downloading {FILE} (550 KiB)", f"Checking {FILE}"]
    assert _fetch(hub, FILE) == (path,)
    assert _downloads(server) == ["whole"]


def test_files_in_folders_keep_their_order(hub: Hub) -> None:
    paths = _fetch(hub, "sub/Tiny-F16.gguf", FILE)
    assert [path.name for path in paths] == ["Tiny-F16.gguf", FILE]


def test_the_cache_is_the_one_that_the_library_knows(hub: Hub, server: HubServer) -> None:
    from huggingface_hub import try_to_load_from_cache

    (path,) = _fetch(hub, FILE)
    known = try_to_load_from_cache(REPO, FILE, cache_dir=hub.cache.folder, revision="main")
    assert known == str(path)


def test_the_token_goes_to_the_hub_and_not_to_the_store(server: HubServer, cache: Path) -> None:
    server.token = "hf_right"
    server.repos[REPO].private = True
    _fetch(Hub(endpoint=server.url, cache=cache, token="hf_right"), FILE)
    sent = {("/blobs/" in seen.path, "Authorization" in seen.headers) for seen in server.seen}
    assert sent == {(False, True), (True, False)}


def test_a_revision_is_another_set_of_files(hub: Hub, server: HubServer, tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    old.write_bytes(b"GGUF, but old")
    for revision in ("v1", "refs/pr/1"):
        server.repos[REPO].revisions[revision] = {FILE: old}
        (path,) = _fetch(hub, FILE, revision=revision)
        assert path.read_bytes() == b"GGUF, but old"
    (path,) = _fetch(hub, FILE)
    assert path.read_bytes() == TINY.read_bytes()


def test_a_new_commit_is_noticed(hub: Hub, server: HubServer, tmp_path: Path) -> None:
    (before,) = _fetch(hub, FILE)
    new = tmp_path / "new.gguf"
    new.write_bytes(b"GGUF, but new")
    server.repos[REPO].revisions["main"][FILE] = new
    (after,) = _fetch(hub, FILE)
    assert after != before
    assert after.read_bytes() == b"GGUF, but new"


def test_a_pinned_file_in_the_cache_needs_no_network(hub: Hub, server: HubServer) -> None:
    commit = server.repos[REPO].commit("main")
    (first,) = _fetch(hub, FILE, revision=commit)
    server.seen.clear()
    assert _fetch(hub, FILE, revision=commit) == (first,)
    assert server.seen == []
    _fetch(hub, "Tiny-Q8_0.gguf", revision=commit)
    assert server.seen != []


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library writes, and so can go on from, whole pieces of 50 000 bytes."""
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 50_000)
    monkeypatch.setattr(hub_download, "_PAUSE", 0.0)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_cut_half_way_is_taken_up_again(
    hub: Hub, server: HubServer, reset: bool
) -> None:
    server.faults = [Fault("blob", times=1, cut_after=120_000, reset=reset)]
    (path,) = _fetch(hub, FILE)
    assert path.read_bytes() == TINY.read_bytes()
    assert _downloads(server) == ["whole", "bytes=100000-"]


@pytest.mark.usefixtures("small_pieces")
def test_the_library_writes_no_line_of_its_own_into_the_progress_bar(
    hub: Hub, server: HubServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    server.faults = [Fault("blob", times=1, cut_after=120_000)]
    _fetch(hub, FILE)
    assert _downloads(server) == ["whole", "bytes=100000-"]
    assert caplog.messages == []
    assert "Error while downloading" not in capfd.readouterr().err


@pytest.mark.usefixtures("small_pieces")
def test_as_long_as_something_comes_it_goes_on(hub: Hub, server: HubServer) -> None:
    server.faults = [Fault("blob", times=5, cut_after=60_000, reset=True)]
    said: list[str] = []
    (path,) = hub.fetch(hub.list(HubModel(REPO)), [FILE], said.append)
    assert path.read_bytes() == TINY.read_bytes()
    assert said.count(f"The connection was lost; going on with {FILE}") == 5
    assert _downloads(server)[-1] == "bytes=250000-"


@pytest.mark.usefixtures("small_pieces")
def test_a_connection_that_brings_nothing_is_given_up(hub: Hub, server: HubServer) -> None:
    server.faults = [Fault("blob", cut_after=1000, reset=True)]
    with pytest.raises(ResolveError, match=r"was lost .*reset.*go on where it stopped"):
        _fetch(hub, FILE)
    assert len(_downloads(server)) == 2


@pytest.mark.usefixtures("small_pieces")
def test_another_run_goes_on_where_the_last_one_stopped(
    hub: Hub, server: HubServer, cache: Path
) -> None:
    server.faults = [
        Fault("blob", times=1, cut_after=120_000, reset=True),
        Fault("blob", times=1, status=500),
    ]
    with pytest.raises(ResolveError, match="500"):
        _fetch(hub, FILE)
    assert [path.stat().st_size for path in cache.rglob("*.incomplete")] == [100_000]
    (path,) = _fetch(Hub(endpoint=server.url, cache=cache), FILE)
    assert path.read_bytes() == TINY.read_bytes()
    assert _downloads(server)[-1] == "bytes=100000-"
    assert list(cache.rglob("*.incomplete")) == []


def test_a_damaged_file_is_deleted_and_said(hub: Hub, server: HubServer, cache: Path) -> None:
    server.faults = [Fault("blob", times=1, corrupt=True)]
    with pytest.raises(ResolveError, match=r"'Tiny-Q4_K_M\.gguf'.*SHA-256.*deleted"):
        _fetch(hub, FILE)
    assert _left_over(cache) == []
    (path,) = _fetch(hub, FILE)
    assert path.read_bytes() == TINY.read_bytes()


@pytest.mark.parametrize("more", [10, -10])
def test_a_file_of_another_size_is_deleted_and_said(
    hub: Hub, server: HubServer, cache: Path, more: int
) -> None:
    server.faults = [Fault("api", times=1, resize=more)]
    announced = TINY.stat().st_size + more
    with pytest.raises(ResolveError, match=rf"not the {announced} that.*deleted.*run the command"):
        _fetch(hub, FILE)
    assert _left_over(cache) == []


def test_what_is_left_of_a_longer_file_is_thrown_away(hub: Hub, server: HubServer) -> None:
    listing = hub.list(HubModel(REPO))
    sha256 = next(file.sha256 for file in listing.files if file.path == FILE)
    partial = partial_of(hub.cache.blob(HubModel(REPO), str(sha256)))
    partial.parent.mkdir(parents=True)
    partial.write_bytes(TINY.read_bytes())
    server.faults = [Fault("api", times=1, resize=10)]
    with pytest.raises(ResolveError, match="run the command again"):
        _fetch(hub, FILE)
    assert not partial.exists()


def test_two_processes_download_a_file_once(hub: Hub, server: HubServer) -> None:
    listing = hub.list(HubModel(REPO))
    sha256 = next(file.sha256 for file in listing.files if file.path == FILE)
    lock = hub.cache.lock(HubModel(REPO), str(sha256))
    lock.parent.mkdir(parents=True)
    other = FileLock(lock)
    other.acquire()
    waits = Event()

    def report(sentence: str) -> None:
        if "Waiting for another process" in sentence:
            waits.set()

    with ThreadPoolExecutor() as threads:
        fetched = threads.submit(hub.fetch, listing, [FILE], report)
        assert waits.wait(60)
        blob = hub.cache.blob(HubModel(REPO), str(sha256))
        blob.write_bytes(TINY.read_bytes())
        other.release()
        assert fetched.result(60)[0].read_bytes() == TINY.read_bytes()
    assert _downloads(server) == []


def test_a_full_disk_is_noticed_before_the_download(
    hub: Hub, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(ResolveError, match=r"needs 550 KiB and .* has 1000 bytes free.*HF_HOME"):
        _fetch(hub, FILE)
    assert _downloads(server) == []


def test_what_is_there_already_needs_no_room(
    hub: Hub, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = hub.list(HubModel(REPO))
    sha256 = next(file.sha256 for file in listing.files if file.path == FILE)
    partial = partial_of(hub.cache.blob(HubModel(REPO), str(sha256)))
    partial.parent.mkdir(parents=True)
    partial.write_bytes(TINY.read_bytes()[:-500])
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    (path,) = _fetch(hub, FILE)
    assert path.read_bytes() == TINY.read_bytes()
    assert _downloads(server) == [f"bytes={TINY.stat().st_size - 500}-"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault("api", status=503),
        Fault("api", status=429),
        Fault("api", status=404, code="RepoNotFound"),
        Fault("api", status=403, code="GatedRepo"),
        Fault("api", web_page=True),
    ],
    ids=str,
)
def test_when_the_hub_does_not_help_the_cache_does(
    hub: Hub, server: HubServer, fault: Fault
) -> None:
    (path,) = _fetch(hub, FILE)
    server.faults = [fault]
    listing = hub.list(HubModel(REPO))
    assert listing.cached and server.url in listing.cached
    assert listing.paths == [FILE]
    assert hub.fetch(listing, [FILE], lambda sentence: None) == (path,)


def test_without_a_network_the_cache_serves(hub: Hub, cache: Path) -> None:
    (path,) = _fetch(hub, FILE)
    nowhere = Hub(endpoint="http://127.0.0.1:9", cache=cache)
    listing = nowhere.list(HubModel(REPO, None, FILE))
    assert listing.cached and "http://127.0.0.1:9 cannot be reached" in listing.cached
    assert nowhere.fetch(listing, [FILE], lambda sentence: None) == (path,)


def test_a_missing_revision_is_not_made_up_from_the_cache(hub: Hub) -> None:
    _fetch(hub, FILE)
    with pytest.raises(ResolveError, match="no revision 'v9'; there is: main"):
        hub.list(HubModel(REPO, "v9"))


# What the library reads when it is imported needs a process of its own.

_PROGRAM = """
import json, sys
from hubserve_engine.catalog import Catalog
from hubserve_engine.errors import ResolveError
try:
    model = Catalog().resolve(sys.argv[1])
except ResolveError as error:
    print(json.dumps({"error": error.message}))
else:
    print(json.dumps({"id": model.id, "file": str(model.files[0]), "notices": model.notices}))
"""


def _resolve(model: str, **variables: str) -> Any:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    command = [sys.executable, "-c", _PROGRAM, model]
    ended = subprocess.run(
        command, env=clean | variables, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_variables_that_users_know(server: HubServer, tmp_path: Path) -> None:
    server.token = "hf_right"
    server.repos[REPO].private = True
    home = str(tmp_path / "home")
    found = _resolve(REPO, HF_ENDPOINT=server.url, HF_HOME=home, HF_TOKEN="hf_right")
    assert found["id"] == f"{REPO}:{FILE}"
    assert found["file"].startswith(home)
    refused = _resolve(REPO, HF_ENDPOINT=server.url, HF_HOME=str(tmp_path / "other"))
    assert "set HF_TOKEN" in refused["error"]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("HF_HOME", "/dev/null", "(HF_HOME=/dev/null) cannot be used, as '/dev/null' is no folder"),
        ("HF_HUB_CACHE", "/dev/null/x", "'/dev/null' is no folder: set HF_HUB_CACHE to a folder"),
        ("HF_HOME", "{}/with-file", "with-file/hub' is no folder: set HF_HOME to a folder"),
        ("HF_HOME", "~nobody-has-this-name/x", "HF_HOME=~nobody-has-this-name/x begins with"),
        ("HF_TOKEN_PATH", "/dev/null/token", "access token in '/dev/null/token' cannot be read"),
    ],
)
def test_a_folder_that_can_be_none_is_said_with_its_variable(
    server: HubServer, tmp_path: Path, variable: str, value: str, said: str
) -> None:
    (tmp_path / "with-file").mkdir()
    (tmp_path / "with-file" / "hub").touch()
    variables = {"HF_ENDPOINT": server.url, variable: value.format(tmp_path)}
    assert said in _resolve(REPO, **variables)["error"]
    assert not Path("~nobody-has-this-name").exists()


def test_offline_only_the_cache_is_asked(server: HubServer, tmp_path: Path) -> None:
    variables = {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "home")}
    named = f"{REPO}:Q4_K_M"
    only = f"HF_HUB_OFFLINE is set, so '{REPO}' is looked for in the cache"
    missing = _resolve(named, **variables, HF_HUB_OFFLINE="1")
    absent = f"HF_HUB_OFFLINE is set, and '{REPO}' is not in the cache"
    assert missing["error"].startswith(f"{absent} ({variables['HF_HOME']}/hub): unset it")
    online = _resolve(named, **variables)
    server.seen.clear()
    offline = _resolve(named, **variables, HF_HUB_OFFLINE="1")
    assert offline["file"] == online["file"]
    assert offline["notices"][0].startswith(only)
    other = _resolve(f"{REPO}:Q8_0", **variables, HF_HUB_OFFLINE="1")
    assert other["error"].startswith(only) and "the cache has: Q4_K_M" in other["error"]
    assert server.seen == []


def test_the_command_line_serves_single_files(tmp_path: Path) -> None:
    place = f"unsloth/Qwen3.5-4B-GGUF:Qwen3.5-4B-Q4_K_M.gguf={TINY}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.hub_server", "--file", place],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            name, _, url = process.stdout.readline().strip().partition("=")
            found = _resolve("unsloth/Qwen3.5-4B-GGUF", **{name: url, "HF_HOME": str(tmp_path)})
            assert found["id"] == "unsloth/Qwen3.5-4B-GGUF:Qwen3.5-4B-Q4_K_M.gguf"
        finally:
            process.terminate()


def test_a_repository_can_be_made_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.gguf").write_bytes(b"GGUF")
    model = parse("o/r:sub/a.gguf")
    assert isinstance(model, HubModel)
    with HubServer({"o/r": Repo.of_folder(tmp_path)}) as server:
        assert Hub(endpoint=server.url).list(model).paths == ["sub/a.gguf"]


def test_the_local_hub_lists_a_tree_as_the_real_one_does(server: HubServer) -> None:
    from huggingface_hub import HfApi

    entries = HfApi(endpoint=server.url).list_repo_tree(REPO, recursive=True)
    assert [entry.path for entry in entries][:2] == ["README.md", FILE]
