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


def test_the_weights_are_the_same(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "a.gguf")
    config = GGUFExportConfig(tmp_path / "b.gguf", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config)
    with GGUFReader(tmp_path / "a.gguf") as a, GGUFReader(tmp_path / "b.gguf") as b:
        assert a.tensors.keys() == b.tensors.keys()
        assert all(np.array_equal(a.tensor(name), b.tensor(name)) for name in a.tensors)


def test_nobody_gets_them_who_does_not_ask(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="a pickle, which can hold code"):
        export(folder, tmp_path / "a.gguf", allow=False)


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch owned",)


@pytest.mark.parametrize("kind", ["pickle", "zip", "noise", "number"])
def test_code_in_them_is_not_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = folder / "pytorch_model.bin"
    if kind == "pickle":
        path.write_bytes(pickle.dumps({"a": Harmful()}))
    elif kind == "zip":
        torch.save({"a": Harmful()}, path)
    else:
        path.write_bytes(b"\x80\x02noise" if kind == "noise" else pickle.dumps(3))
    with pytest.raises(ExportError, match=r"pytorch_model\.bin"):
        export(folder, tmp_path / "a.gguf")
    assert not Path("owned").exists() and not Path("a.gguf").exists()


def test_a_torch_with_known_holes_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.1")
    with pytest.raises(ExportError, match=r"torch from 2\.10 on, and torch 2\.9\.1 is here"):
        unpickling.run({"files": ["a.bin"]}, lambda share: None)
