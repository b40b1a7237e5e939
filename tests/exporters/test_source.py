"""What a file remembers of its checkpoint."""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporters.test_ledger import as_read

from hubserve_exporters.checkpoint import open_checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.source import (
    MAX_KEPT_BYTES,
    Source,
    SourceTensor,
    read_source,
    source_metadata,
)

SOURCE = Source("LlamaForCausalLM", False, {"a": SourceTensor("BF16", (2, 3))}, ("model.visual.x",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"text_config": {"hidden_size": 64}}')
    (tmp_path / "tokenizer.json").write_bytes(b"\xff not even text")
    return tmp_path


def keys(folder: Path) -> dict[str, Value]:
    return source_metadata(open_checkpoint(folder), SOURCE)


def deflated(data: bytes) -> Any:
    return np.frombuffer(zlib.compress(data), np.uint8)


def test_all_of_it_comes_back(folder: Path) -> None:
    found = read_source(as_read(keys(folder)))
    assert found.tensors == SOURCE.tensors
    assert found.dropped == SOURCE.dropped
    assert found.architecture == SOURCE.architecture
    assert found.missing == ()
    assert found.files["tokenizer.json"] == b"\xff not even text"
    assert found.config.integer("hidden_size") == 64


def test_files_that_are_too_large_are_named(folder: Path) -> None:
    noise = np.random.default_rng(0).bytes(MAX_KEPT_BYTES + 1)
    (folder / "tokenizer.model").write_bytes(noise)
    (folder / "vocab.json").write_text("{}")
    found = read_source(as_read(keys(folder)))
    assert found.missing == ("tokenizer.model",)
    assert found.files.keys() == {"config.json", "tokenizer.json", "vocab.json"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hubserve.format": 2}, "of version 2"),
        ({"hubserve.tensors": "text"}, "damaged"),
        ({"hubserve.tensors": np.zeros(5, np.uint8)}, "damaged"),
        ({"hubserve.file.config.json": np.zeros(5, np.uint8)}, "damaged"),
        ({"hubserve.file.config.json": deflated(b"[" * 100_000)}, "damaged"),
        ({"hubserve.tensors": deflated(b'{"a": ["BF17", [2]]}')}, "damaged"),
        ({"hubserve.tensors": deflated(b'{"a": ["BF16", [-2]]}')}, "damaged"),
        ({"hubserve.tensors": deflated(b'{"a": ["BF16", "2"]}')}, "damaged"),
    ],
)
def test_damage_is_told(changed: dict[str, Any], message: str, folder: Path) -> None:
    with pytest.raises(ExportError, match=message):
        read_source(as_read({**keys(folder), **changed}))


def test_a_bomb_is_not_inflated(folder: Path) -> None:
    bomb = deflated(bytes(2**28))
    with pytest.raises(ExportError, match="longer than 128 MiB"):
        read_source(as_read({**keys(folder), "hubserve.file.config.json": bomb}))


def test_templates_with_a_folder_are_kept_and_lead_nowhere_else(folder: Path) -> None:
    templates = folder / "additional_chat_templates"
    templates.mkdir()
    for name in ("tool use.jinja", "rag.jinja"):
        (templates / name).write_text(name)
    made = keys(folder)
    assert made["hubserve.dropped"] == (
        "model.visual.x",
        "additional_chat_templates/tool use.jinja",
    )
    made["hubserve.file.additional_chat_templates/../../x.jinja"] = deflated(b"x")
    made["hubserve.file.owned"] = deflated(b"x")
    assert read_source(as_read(made)).files.keys() == {
        *("config.json", "tokenizer.json", "additional_chat_templates/rag.jinja")
    }


def test_configurations_are_json(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"a": "ü"}), "utf-8")
    assert read_source(as_read(keys(folder))).config.text("a") == "ü"
