"""`hubserve exports`, as a person runs it."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.export_users import Using, using
from tests.support.gguf_builder import write_gguf

from hubserve_engine.exports.store import Export, ExportStore
from hubserve_server import cli

__all__ = ["using"]

OLD, NEW = "a" * 32, "b" * 32


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExportStore:
    monkeypatch.setenv("HUBSERVE_CACHE_DIR", str(tmp_path))
    store = ExportStore(tmp_path)
    for key, id, used in ((OLD, "o/Old", 1e9), (NEW, "o/New", 2e9)):
        path = write_gguf(store.path / key / "m-Q8_0.gguf")
        store.add(Export(key, id, "q8_0", path.name, path.stat().st_size))
        os.utime(store.path / key / "export.json", (used, used))
    return store


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, list[str]]:
    monkeypatch.setattr(sys, "argv", ["hubserve", "exports", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert isinstance(caught.value.code, int)
    said = capsys.readouterr()
    return caught.value.code, (said.out or said.err).splitlines()


def test_they_are_listed_the_latest_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: ExportStore
) -> None:
    code, (first, *lines) = run(monkeypatch, capsys)
    assert code == 0 and first.startswith(f"{store.path}: ")
    assert [line.split()[0] for line in lines] == ["bbbbbbbb", "aaaaaaaa"]
    assert all("q8_0" in line for line in lines) and lines[0].endswith("o/New")
    assert run(monkeypatch, capsys, "ls") == (0, [first, *lines])


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["o/Old"], {"o/New"}),
        (["bbbb"], {"o/Old"}),
        (["o/Old", "b"], set()),
        (["--all"], set()),
    ],
)
def test_they_are_removed_by_name_or_key(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    store: ExportStore,
    words: list[str],
    left: set[str],
) -> None:
    code, lines = run(monkeypatch, capsys, "rm", *words)
    assert code == 0 and len(lines) == 2 - len(left)
    assert all(line.startswith("removed o/") for line in lines)
    assert {export.id for export, _ in store.all()} == left


def test_what_begins_several_keys_is_unclear(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: ExportStore
) -> None:
    path = write_gguf(store.path / f"aab{OLD[3:]}" / "m-F16.gguf")
    store.add(Export(path.parent.name, "o/Old", "f16", path.name, path.stat().st_size))
    code, (line,) = run(monkeypatch, capsys, "rm", "aa")
    assert code == 2 and "'aa' begins 2 keys; `hubserve exports` lists them." in line
    assert len(run(monkeypatch, capsys, "rm", "aab")[1]) == 1
    assert store.find(OLD) is not None


def test_all_is_also_what_was_never_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: ExportStore
) -> None:
    begun, still_made = ("c" * 32, "d" * 32)
    for key in (begun, still_made):
        write_gguf(store.path / key / "m.gguf.partial" / "m.gguf")
    with store.alone(still_made, waiting=lambda: pytest.fail("nobody else is there")):
        assert run(monkeypatch, capsys, "rm", "--all")[0] == 0
    assert [path.name for path in store.path.iterdir() if path.is_dir()] == [still_made]


@pytest.mark.parametrize("words", [["o/Old", "o/New"], ["--all"], ["o/Old"]])
def test_what_a_server_uses_stays(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    store: ExportStore,
    using: Using,
    words: list[str],
) -> None:
    server = using(store, OLD, "served")
    monkeypatch.setattr(sys, "argv", ["hubserve", "exports", "rm", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert said.err.startswith("hubserve: A server that runs uses o/Old q8_0; stop it first")
    others = words != ["o/Old"]
    assert said.out.startswith("removed o/New") if others else not said.out
    assert store.find(OLD) is not None and (store.find(NEW) is None) == others
    server.communicate()
    assert run(monkeypatch, capsys, "rm", "o/Old")[0] == 0
    assert store.find(OLD) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Name what to remove"),
        (["o/Old", "o/Gone"], "There is no export 'o/Gone'"),
        ([""], "There is no export ''"),
    ],
)
def test_nothing_goes_where_something_is_unclear(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    store: ExportStore,
    words: list[str],
    said: str,
) -> None:
    code, (line,) = run(monkeypatch, capsys, "rm", *words)
    assert code == 2 and said in line
    assert len(store.all()) == 2
