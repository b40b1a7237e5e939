"""The page on adding an architecture has a whole one, which works."""

import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.exporters.architectures.test_parity import TOKENS, transformers_logits
from tests.support.checkpoints import make
from tests.support.llama_logits import llama_logits

from hubserve_exporters import ExportError, GGUFExportConfig, export_gguf, load_gguf_state_dict
from hubserve_exporters.architectures import TABLE
from hubserve_exporters.checkpoint import WEIGHTS

PAGE = Path(__file__).parents[3] / "docs/adding-an-architecture.md"


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> str:
    """The module on the page, which is there as if it were in its folder."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    text = found[1]
    module = ModuleType("hubserve_exporters.architectures.pomelo")
    exec(compile(text, "pomelo.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(TABLE, "PomeloForCausalLM", "pomelo.Pomelo")
    return str(text)


def as_pomelo(llama: Path, folder: Path) -> Path:
    """The same model, as a Pomelo keeps it."""
    shutil.copytree(llama, folder)
    weights = load_file(llama / WEIGHTS)
    for name, values in list(weights.items()):
        if name.endswith("norm.weight"):
            weights[name] = values - np.float32(1)
        elif name.endswith("gate_proj.weight"):
            up = weights.pop(name.replace("gate_proj", "up_proj"))
            both = np.concatenate([weights.pop(name), up])
            weights[name.replace("gate_proj", "gate_up_proj")] = both
    save_file(weights, folder / WEIGHTS)
    change(folder, architectures=["PomeloForCausalLM"])
    return folder


def change(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_it_takes_less_than_forty_lines(source: str) -> None:
    assert len(source.splitlines()) < 40


def test_what_it_exports_is_right(source: str, tmp_path: Path) -> None:
    rope = {"rope_theta": 5e5, "rope_type": "default"}
    llama = make(tmp_path / "llama", "llama", vary=True, rope_parameters=rope)
    expected = transformers_logits(llama)
    pomelo = as_pomelo(llama, tmp_path / "pomelo")
    change(pomelo, rope_parameters=None)
    path = tmp_path / "it.gguf"
    config = GGUFExportConfig(path, dtype="f32", tokenizer="none", check="none")
    export_gguf(pomelo, config)

    (logits,) = llama_logits([(path, TOKENS, 256)])
    assert ((logits - expected) ** 2).sum() / (expected**2).sum() < 1e-9
    weights = load_file(pomelo / WEIGHTS)
    restored = load_gguf_state_dict(path)
    assert restored.keys() == weights.keys()
    assert all(values.tobytes() == weights[name].tobytes() for name, values in restored.items())

    change(pomelo, peeled=True)
    with pytest.raises(ExportError, match="'peeled' is true"):
        export_gguf(pomelo, config)
