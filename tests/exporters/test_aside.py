"""The place for what is not ready yet."""

from pathlib import Path

import pytest
from filelock import FileLock

from hubserve_exporters import ExportError
from hubserve_exporters.aside import aside


def test_it_is_beside_the_path_and_goes_away(tmp_path: Path) -> None:
    with aside(tmp_path / "a" / "b" / "it.gguf") as folder:
        assert folder == tmp_path / "a" / "b" / "it.gguf.partial"
        (folder / "it.gguf").write_text("it")
        (folder / "it.gguf").rename(folder.parent / "it.gguf")
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["it.gguf"]


def test_of_what_fails_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ZeroDivisionError), aside(tmp_path / "a" / "b" / "c" / "it") as folder:
        (folder / "half").mkdir()
        raise ZeroDivisionError
    # What was there stays.
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_what_a_killed_process_left_is_gone(tmp_path: Path) -> None:
    left = tmp_path / "it.partial"
    (left / "unquantized").mkdir(parents=True)
    for name in ("unquantized/it.gguf", "it.gguf", "lock"):
        (left / name).write_text("half")
    (left / "link").symlink_to(tmp_path)
    with aside(tmp_path / "it") as folder:
        assert [path.name for path in folder.iterdir()] == ["lock"]
    assert not list(tmp_path.iterdir())


def test_nobody_else_writes_there(tmp_path: Path) -> None:
    (tmp_path / "it.partial").mkdir()
    refused = pytest.raises(ExportError, match=r"Another process writes .*/it; wait for it to end")
    with FileLock(tmp_path / "it.partial" / "lock"), refused, aside(tmp_path / "it"):
        pytest.fail("it is not ours")
    assert (tmp_path / "it.partial").is_dir()


def test_what_cannot_be_a_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "it", tmp_path / ("n" * 300)):
        refused = pytest.raises(ExportError, match=r"cannot be written: .*; name another place")
        with refused, aside(path):
            pytest.fail("it is not there")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
