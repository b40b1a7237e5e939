"""One folder for several processes, some of which die."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.process import SAFETY

from hubserve_engine.prefix_store.folder import CacheUnusable, Folder, Usage, default_folder
from hubserve_engine.prefix_store.store import PrefixStore

WRITES_SLOWLY = """
import os, sys, time
from pathlib import Path
from hubserve_engine.prefix_store.store import PrefixStore
write = os.write
def slowly(descriptor, data):
    written = write(descriptor, data[:4096])
    if len(data) == 20000:
        print("half", flush=True)
        sys.stdin.readline()
    return written
os.write = slowly
store = PrefixStore(Path(sys.argv[1]), "key", 100_000)
print(store.save([1, 2, 3], bytes(20000)) is not None, flush=True)
"""

SAVES_MANY = """
import os, sys
from pathlib import Path
from hubserve_engine.prefix_store.store import PrefixStore
store = PrefixStore(Path(sys.argv[1]), "key", 50_000)
for i in range(300):
    tokens = [i % 40, int(sys.argv[2]) * (i % 3)]
    store.save(tokens, bytes(tokens[:1]) * (1000 + i * 10), supersede=i % 7 == 0)
    for entry in store.entries()[::5]:
        state = store.load(entry)
        assert state is None or set(state) == {entry.tokens[0]}
"""


@contextmanager
def python(program: str, *arguments: str | Path) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def names(folder: Path, ending: str) -> list[str]:
    return [path.name for path in folder.glob(f"prefixes/*{ending}")]


def test_what_is_killed_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    with python(WRITES_SLOWLY, tmp_path) as process:
        assert line(process) == "half"
        assert names(tmp_path, ".prefix") == []
        assert len(names(tmp_path, ".partial")) == 1
        process.send_signal(signal.SIGKILL)
        process.wait(SAFETY)
    store = PrefixStore(tmp_path, "key", 100_000)
    assert store.entries() == []
    assert names(tmp_path, "") == ["lock"]


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """It counts, too: it has all its bytes from the beginning."""
    with python(WRITES_SLOWLY, tmp_path) as process:
        assert line(process) == "half"
        store = PrefixStore(tmp_path, "key", 30_000)
        assert len(names(tmp_path, ".partial")) == 1
        assert store.save([9], bytes(15_000)) is None
        assert store.save([9], bytes(5000)) is not None
        process.communicate("\n", timeout=SAFETY)
    assert sorted(entry.size for entry in store.entries()) == [5000, 20_000]


def test_clearing_while_one_is_written_does_no_harm(tmp_path: Path) -> None:
    with python(WRITES_SLOWLY, tmp_path) as process:
        assert line(process) == "half"
        Folder(tmp_path).clear()
        out, err = process.communicate("\n", timeout=SAFETY)
        assert (out.strip(), err) == ("False", "")
    assert names(tmp_path, "") == ["lock"]


def test_two_processes_stay_within_the_limit_together(tmp_path: Path) -> None:
    folder = tmp_path / "prefixes"
    with python(SAVES_MANY, tmp_path, "1") as one, python(SAVES_MANY, tmp_path, "2") as two:
        while one.poll() is None or two.poll() is None:
            # One may go and another come while they are counted, but not as many as there may be.
            assert sum(map(size, folder.glob("*.p*"))) <= 2 * 50_000
            time.sleep(0.005)
        for process in (one, two):
            assert process.communicate(timeout=SAFETY) == ("", "")
            assert process.returncode == 0
    store = PrefixStore(tmp_path, "key", 50_000)
    assert store.entries()
    assert all(store.load(entry) is not None for entry in store.entries())
    assert Folder(tmp_path).usage().size <= 50_000
    assert names(tmp_path, ".partial") == []


def test_what_is_there_is_counted_and_cleared(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.usage() == folder.clear() == Usage(0, 0)
    assert not folder.path.exists()
    for key in ("one", "two"):
        PrefixStore(tmp_path, key, 100_000).save([1], bytes(100))
    usage = folder.usage()
    assert usage.files == 2
    assert 200 < usage.size < 400
    assert folder.clear() == usage
    assert folder.usage() == Usage(0, 0)


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheUnusable, match=r"file/prefixes' cannot be used: not a directory\.$"):
        Folder(tmp_path / "file").open()
    (tmp_path / "prefixes").write_text("")
    with pytest.raises(CacheUnusable, match=r"prefixes' cannot be used: file exists\.$"):
        Folder(tmp_path).open()


def test_a_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(CacheUnusable, match="belongs to another user"):
        Folder(tmp_path).open()


def test_the_usual_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HUBSERVE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr("sys.platform", "linux")
    assert default_folder() == Path("/home/me/.cache/hubserve")
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_folder() == Path("/home/me/Library/Caches/hubserve")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_folder() == Path("/caches/hubserve")
    monkeypatch.setenv("HUBSERVE_CACHE_DIR", "/elsewhere")
    assert default_folder() == Path("/elsewhere")
