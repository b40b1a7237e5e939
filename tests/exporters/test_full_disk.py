"""A disk that is full: one sentence with the next step, and nothing that is left behind."""

import errno
import os
import shutil
import subprocess
import sys
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkpoints import checkpoint, make

from hubserve_exporters import (
    ExportError,
    GGUFExportConfig,
    export_gguf,
    preview_export,
    restore_checkpoint,
    writing,
)

LIMITED = """
import resource, sys
from pathlib import Path
from hubserve_exporters import ExportError, GGUFExportConfig, export_gguf, restore_checkpoint
from hubserve_exporters.quantize import quantize
source, target, size, what = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    if what == "quantize":
        quantize([source], [target], "q6_k")
    elif what == "restore":
        restore_checkpoint(source, target)
    else:
        export_gguf(source, GGUFExportConfig(target, dtype=what, check="none"))
except ExportError as error:
    print(error)
    sys.exit(3)
"""
"""In a process that may write no file larger than that: EFBIG, as a full disk is ENOSPC."""


class Full(FileIO):
    """A file on a disk with room for 100 kB."""

    def write(self, data: Any, /) -> int:
        room = 100_000 - self.tell()
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(memoryview(data)[:room])


def limited(source: Path, target: Path, size: int, what: str) -> str:
    command = [sys.executable, "-c", LIMITED, str(source), str(target), str(size), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("dtype", ["f32", "q8_0", "q6_k"])
def test_a_disk_that_fills_up_while_it_is_written(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.gguf"
    path.write_text("old")

    def opened(path: Path, *_: object, **__: object) -> Full:
        return Full(path, "wb")

    monkeypatch.setattr(writing, "open", opened, raising=False)
    with pytest.raises(ExportError) as caught:
        export_gguf(checkpoint("llama"), GGUFExportConfig(path, dtype=dtype))
    begun, _, rest = str(caught.value).partition(" KiB are needed: ")
    before, _, needed = begun.rpartition(" ")
    assert before == f"{path} cannot be written: No space left on device, and"
    # The file, or for llama.cpp the one before it, too.
    size = preview_export(checkpoint("llama"), GGUFExportConfig(path, dtype=dtype)).size
    assert int(needed) == round((1.6 if dtype == "q6_k" else 1) * size / 1024)
    assert rest == "make room there, or write to another disk (-o; --cache-dir where it is served)."
    assert [found.name for found in tmp_path.iterdir()] == ["it.gguf"]
    assert path.read_text() == "old"


def test_a_disk_that_is_too_small_is_seen_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(tmp_path)._replace(free=400_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    monkeypatch.setattr(writing, "open", lambda *_: pytest.fail("nothing"), raising=False)
    with pytest.raises(ExportError, match=r"has 391 KiB free, and 491 KiB are needed: make"):
        export_gguf(checkpoint("llama"), GGUFExportConfig(tmp_path / "it.gguf"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["f32", "q4_k_m"])
def test_files_that_may_be_no_larger(what: str, tmp_path: Path) -> None:
    said = limited(checkpoint("llama"), tmp_path / "it.gguf", 100_000, what)
    assert "cannot be written: File too large" in said and "--split-max-size" in said
    assert "\n" not in said and not list(tmp_path.iterdir())


def test_llama_cpp_that_cannot_write_any_more(tmp_path: Path) -> None:
    wide: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 512}
    source = tmp_path / "source.gguf"
    export_gguf(make(tmp_path / "wide", "llama", **wide), GGUFExportConfig(source, check="none"))
    said = limited(source, tmp_path / "it.gguf", 300_000, "quantize")
    assert "it.gguf cannot be written: File too large" in said and "\n" not in said
    assert not (tmp_path / "it.gguf").exists()


def test_a_checkpoint_that_does_not_fit(tmp_path: Path) -> None:
    source = tmp_path / "it.gguf"
    export_gguf(checkpoint("llama"), GGUFExportConfig(source, check="none"))
    said = limited(source, tmp_path / "back", 100_000, "restore")
    assert "back cannot be written: File too large" in said and "\n" not in said
    assert [found.name for found in tmp_path.iterdir()] == ["it.gguf"]


def test_a_checkpoint_for_which_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "it.gguf"
    export_gguf(checkpoint("llama"), GGUFExportConfig(source, check="none"))
    free = shutil.disk_usage(tmp_path)._replace(free=400_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(ExportError, match=r" has 391 KiB free, and .* are needed: make"):
        restore_checkpoint(source, tmp_path / "back")
    assert [found.name for found in tmp_path.iterdir()] == ["it.gguf"]


def test_a_folder_in_the_place_of_the_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "it.gguf").mkdir()
    with pytest.raises(ExportError, match=r"it\.gguf is a folder; name a file"):
        export_gguf(checkpoint("llama"), GGUFExportConfig(tmp_path / "it.gguf"))
    assert [found.name for found in tmp_path.iterdir()] == ["it.gguf"]
