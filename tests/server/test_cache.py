"""`hubserve cache`, as a person runs it."""

import sys
from pathlib import Path

import pytest

from hubserve_engine.prefix_store.store import PrefixStore
from hubserve_server import cli


def hubserve(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["hubserve", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_what_there_is_is_shown_and_then_removed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HUBSERVE_CACHE_DIR", str(tmp_path))
    folder = tmp_path / "prefixes"
    store = PrefixStore(tmp_path, "key", 1 << 20)
    entries = [store.save([n], bytes(10_000)) for n in range(2)]

    def said(*arguments: str) -> str:
        assert hubserve(monkeypatch, "cache", *arguments) == 0
        return capsys.readouterr().out

    assert said() == said("show") == f"{folder}: 2 files, 19.6 KiB\n"
    assert said("clear") == f"{folder}: removed 2 files, 19.6 KiB\n"
    assert said() == f"{folder}: 0 files, 0 bytes\n"
    assert entries[0] is not None and store.load(entries[0]) is None
    store.save([3], bytes(10))
    assert said().startswith(f"{folder}: 1 file, ")
    elsewhere = tmp_path / "elsewhere"
    assert said("--cache-dir", str(elsewhere)) == f"{elsewhere / 'prefixes'}: 0 files, 0 bytes\n"
    assert not elsewhere.exists()


@pytest.mark.parametrize("action", ["show", "clear"])
def test_a_folder_that_is_none_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    action: str,
) -> None:
    (tmp_path / "prefixes").write_text("")
    assert hubserve(monkeypatch, "cache", action, "--cache-dir", tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hubserve: '{tmp_path / 'prefixes'}' cannot be ")


def test_an_action_that_is_none_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hubserve(monkeypatch, "cache", "empty") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'empty' is not one of 'show', 'clear'" in line
