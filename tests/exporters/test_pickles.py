"""Weights that are pickles: for those who ask, and without running what is in them."""

import os
import pickle
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.checkpoints import checkpoint

from hubserve_exporters import ExportError, GGUFExportConfig, GGUFReader, export_gguf
from hubserve_exporters.checkpoint import WEIGHTS
from hubserve_exporters.isolated import unpickling


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from safetensors.torch import load_file

    folder = shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    return folder


def export(folder: Path, out: Path, *, allow: bool = True) -> None:
    config = GGUFExportConfig(out, tokenizer="none", check="none", allow_pickle=allow)
    export_gguf(folder, config)


@pytest.mark.parametrize("older", [False, True])
def test_the_weights_are_the_same(folder: Path, tmp_path: Path, older: bool) -> None:
    if older:
        found = torch.load(folder / "pytorch_model.bin", weights_only=True)
        torch.save(found, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    export(folder, tmp_path / "a.gguf")
    config = GGUFExportConfig(tmp_path / "b.gguf", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config)
    with GGUFReader(tmp_path / "a.gguf") as a, GGUFReader(tmp_path / "b.gguf") as b:
        assert a.tensors.keys() == b.tensors.keys()
        assert all(np.array_equal(a.tensor(name), b.tensor(name)) for name in a.tensors)


def test_the_other_files_come_along_unless_they_lead_out(folder: Path, tmp_path: Path) -> None:
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates/tool.jinja").write_text("A tool.")
    export(folder, tmp_path / "a.gguf")
    with GGUFReader(tmp_path / "a.gguf") as reader:
        kept = [key for key in reader.metadata if key.startswith("hubserve.file.")]
    assert "hubserve.file.additional_chat_templates/tool.jinja" in kept
    (tmp_path / "secret").write_text("{}")
    (folder / "special_tokens_map.json").symlink_to(tmp_path / "secret")
    with pytest.raises(ExportError, match="outside of the checkpoint"):
        export(folder, tmp_path / "b.gguf")


def test_nobody_gets_them_who_does_not_ask(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="a pickle, which can hold code"):
        export(folder, tmp_path / "a.gguf", allow=False)


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch owned",)


def test_code_in_them_is_not_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful()}))
    with pytest.raises(ExportError, match=r"pytorch_model\.bin holds more than tensors"):
        export(folder, tmp_path / "a.gguf")
    assert not Path("owned").exists() and not Path("a.gguf").exists()


@pytest.mark.parametrize("kind", ["zip", "noise", "empty", "archive", "odd", "number", "nested"])
def test_what_is_no_table_of_tensors_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pytorch_model.bin"
    damaged = {"noise": b"\x80\x02noise", "empty": b"", "archive": b"PK\3\4", "odd": b"\x80\x02R."}
    if kind in damaged:
        path.write_bytes(damaged[kind])
    else:
        values = {"zip": {"a": Harmful()}, "number": 3, "nested": {"a": {"b": torch.zeros(1)}}}
        torch.save(values[kind], path)
    with pytest.raises(ExportError, match=r"pytorch_model\.bin (holds|is no)") as caught:
        unpickling.run({"files": [str(path)], "target": "a"}, lambda share: None)
    assert "\n" not in str(caught.value)
    assert not Path("owned").exists() and not Path("a").exists()


def test_a_torch_with_known_holes_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.1")
    with pytest.raises(ExportError, match=r"torch from 2\.10 on, and torch 2\.9\.1 is here"):
        unpickling.run({"files": ["a.bin"]}, lambda share: None)
