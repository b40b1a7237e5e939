"""The exports on disk, which several processes share, and any of them may die."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.export_users import Using, using
from tests.support.gguf_builder import write_gguf

from hubserve_engine.exports.store import Export, ExportStore

__all__ = ["using"]

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def store(tmp_path: Path) -> ExportStore:
    return ExportStore(tmp_path)


def add(store: ExportStore, key: str, *, used: float = 0) -> Export:
    path = write_gguf(store.path / key / "m-Q8_0.gguf")
    export = Export(key, "o/m", "q8_0", path.name, path.stat().st_size, ("A note.",))
    store.add(export)
    if used:
        os.utime(store.path / key / "export.json", (used, used))
    return export


def test_what_is_whole_is_found(store: ExportStore) -> None:
    assert store.find(A) is None and store.all() == []
    export = add(store, A, used=1000)
    assert store.find(A) == export
    assert store.file(export) == store.path / A / "m-Q8_0.gguf"
    ((found, used),) = store.all()
    assert found == export and used > 1000


@pytest.mark.parametrize("fault", ["gone", "longer", "damaged", "unnamed", "garbled", "elsewhere"])
def test_what_is_not_whole_is_not(store: ExportStore, fault: str) -> None:
    export = add(store, A)
    file, note = store.file(export), store.path / A / "export.json"
    if fault == "gone":
        file.unlink()
    elif fault == "longer":
        file.write_bytes(file.read_bytes() + b"x")
    elif fault == "damaged":
        file.write_bytes(b"x" * export.size)
    elif fault == "unnamed":
        note.unlink()
    elif fault == "garbled":
        note.write_text("{")
    else:
        note.write_text(note.read_text().replace("m-Q8_0.gguf", f"../{B}/m-Q8_0.gguf"))
        add(store, B)
    assert store.find(A) is None


def test_what_was_not_used_for_longest_goes_first(store: ExportStore) -> None:
    size = add(store, A, used=3000).size
    add(store, B, used=1000)
    add(store, C, used=2000)
    store.shrink(2 * size, keep=A)
    assert [export.key for export, _ in store.all()] == [A, C]
    store.shrink(0, keep=C)
    assert [export.key for export, _ in store.all()] == [C]
    assert not (store.path / A).exists()


def test_what_dead_processes_left_goes_and_what_living_ones_make_stays(
    store: ExportStore, tmp_path: Path
) -> None:
    write_gguf(store.path / A / "m.gguf.partial" / "m.gguf")
    (store.path / B).mkdir()
    (store.path / "notes").mkdir()
    with store.alone(B, waiting=lambda: pytest.fail("nobody else is there")):
        code = (
            "import sys; from pathlib import Path\n"
            "from hubserve_engine.exports.store import ExportStore\n"
            f"ExportStore(Path({str(tmp_path)!r})).shrink(0, keep='')"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert not (store.path / A).exists()
        assert (store.path / B).exists() and (store.path / "notes").exists()
    store.shrink(0, keep="")
    assert not (store.path / B).exists()


def test_one_waits_while_another_works(store: ExportStore, using: Using) -> None:
    add(store, A)
    other = using(store, A, "made")
    told = []

    def waiting() -> None:
        told.append(True)
        assert other.stdin is not None
        other.stdin.close()

    with store.alone(A, waiting):
        assert told == [True]


def test_what_is_served_stays_until_its_servers_are_gone(store: ExportStore, using: Using) -> None:
    size = add(store, A, used=1000).size
    add(store, B, used=2000)
    servers = [using(store, A, "served") for _ in range(2)]
    for left in (*servers, None):
        os.utime(store.path / A / "export.json", (1000, 1000))
        store.shrink(size, keep=B)
        assert {export.key for export, _ in store.all()} == ({A, B} if left else {B})
        if left is not None:
            left.kill()
            left.wait()


def test_what_somebody_is_about_to_serve_stays(store: ExportStore, tmp_path: Path) -> None:
    add(store, A)
    with store.alone(A, waiting=lambda: pytest.fail("nobody else is there")):
        ExportStore(tmp_path).shrink(0, keep="")
        assert [export.key for export, _ in store.all()] == [A]
    store.shrink(0, keep="")
    assert store.all() == []
