"""What tells one export from another."""

import shutil
from importlib import metadata
from pathlib import Path

import pytest

from hubserve_engine.exports.key import export_key

NAMES = ("config.json", "tokenizer.json", "model.safetensors")


def folder(path: Path) -> Path:
    path.mkdir()
    for name in NAMES:
        (path / name).write_text(name)
    return path


def key(path: Path, dtype: str = "q8_0", name: str = "m") -> str:
    return export_key(path, [path / name for name in NAMES], dtype, name)


def test_another_folder_with_the_same_files_is_the_same(tmp_path: Path) -> None:
    one = folder(tmp_path / "one")
    other = shutil.copytree(one, tmp_path / "other")
    assert key(one) == key(other)
    (other / "README.md").write_text("not listed")
    assert key(one) == key(other)


@pytest.mark.parametrize("name", NAMES)
def test_any_other_content_is_another(tmp_path: Path, name: str) -> None:
    one = folder(tmp_path / "one")
    other = shutil.copytree(one, tmp_path / "other")
    (other / name).write_text(name.upper())
    assert key(one) != key(other)


def test_so_is_another_type_or_name_or_maker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = folder(tmp_path / "one")
    keys = {key(one), key(one, dtype="q4_k_m"), key(one, name="n")}
    monkeypatch.setattr(metadata, "version", lambda name: "99")
    assert len(keys | {key(one)}) == 4
