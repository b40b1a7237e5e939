"""What counts as part of a checkpoint, and what does not."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hubserve_exporters.checkpoint import INDEX, WEIGHTS, Checkpoint, open_checkpoint
from hubserve_exporters.errors import ExportError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint in two shards."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "a": 1}')
    save_file({"one": np.ones(3, np.float32)}, folder / "s1.safetensors")
    save_file({"two": np.ones((2, 2), np.float16)}, folder / "s2.safetensors")
    write_index(folder, one="s1.safetensors", two="s2.safetensors")
    return folder


def write_index(folder: Path, **names: str) -> None:
    (folder / INDEX).write_text(json.dumps({"weight_map": names}))


def test_shards_are_one_checkpoint(folder: Path) -> None:
    checkpoint = open_checkpoint(folder)
    assert checkpoint.architecture == "LlamaForCausalLM"
    assert {name: tensor.dtype for name, tensor in checkpoint.tensors.items()} == {
        "one": "F32",
        "two": "F16",
    }
    np.testing.assert_array_equal(checkpoint.tensor("two").array(), np.ones((2, 2)))


def test_one_file_needs_no_index(folder: Path) -> None:
    (folder / INDEX).unlink()
    save_file({"only": np.ones(3, np.float32)}, folder / WEIGHTS)
    assert list(open_checkpoint(folder).tensors) == ["only"]


def test_the_language_model_of_a_multimodal_one_stands_in_text_config(folder: Path) -> None:
    config = {"hidden_size": 1, "eos_token_id": 2, "text_config": {"hidden_size": 64}}
    (folder / "config.json").write_text(json.dumps(config))
    checkpoint = open_checkpoint(folder)
    assert checkpoint.config.integer("hidden_size") == 64
    assert checkpoint.config.integer("eos_token_id") == 2
    assert checkpoint.raw_config["hidden_size"] == 1


@pytest.mark.parametrize(
    "name", ["../s1.safetensors", "/etc/passwd", "sub/s1.safetensors", "..", "", "a\\b"]
)
def test_a_shard_is_a_plain_name(folder: Path, name: str) -> None:
    write_index(folder, one=name, two="s2.safetensors")
    with pytest.raises(ExportError, match="no plain file name"):
        _ = open_checkpoint(folder).tensors


def test_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.safetensors"
    (folder / "s1.safetensors").rename(outside)
    (folder / "s1.safetensors").symlink_to(outside)
    with pytest.raises(ExportError, match="outside of the checkpoint"):
        _ = open_checkpoint(folder).tensors


def test_the_hubs_cache_links_to_its_blobs(folder: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--x" / "snapshots" / "abc", tmp_path / "models--x" / "blobs"
    snapshot.parent.mkdir(parents=True)
    blobs.mkdir()
    folder.rename(snapshot)
    (snapshot / "s1.safetensors").rename(blobs / "123")
    (snapshot / "s1.safetensors").symlink_to("../../blobs/123")
    assert len(open_checkpoint(snapshot).tensors) == 2


def test_index_and_shards_have_to_agree(folder: Path) -> None:
    write_index(folder, one="s1.safetensors", two="s1.safetensors")
    with pytest.raises(ExportError, match="no tensor 'two'"):
        _ = open_checkpoint(folder).tensors
    write_index(folder, one="s1.safetensors", three="s2.safetensors")
    with pytest.raises(ExportError, match=r"has the tensor 'two', which .* denies"):
        _ = open_checkpoint(folder).tensors
    save_file({"one": np.ones(3, np.float32)}, folder / "s2.safetensors")
    write_index(folder, one="s1.safetensors", two="s2.safetensors")
    with pytest.raises(ExportError, match="'one' is in two files"):
        _ = open_checkpoint(folder).tensors
    (folder / "s2.safetensors").unlink()
    with pytest.raises(ExportError, match=r"s2.safetensors is missing.*download"):
        _ = open_checkpoint(folder).tensors


def test_a_pickle_is_refused_by_name(folder: Path) -> None:
    (folder / INDEX).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ExportError, match=r"pytorch_model.bin, a pickle.*use a revision"):
        _ = open_checkpoint(folder).tensors
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(ExportError, match=r"has neither model.safetensors"):
        _ = open_checkpoint(folder).tensors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "config.json is not JSON"),
        ("[" * 100_000, "config.json is not JSON"),
        ("[1]", "config.json holds no object"),
        ('"text"', "config.json holds no object"),
    ],
)
def test_a_config_that_is_none(folder: Path, text: str, message: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(ExportError, match=message):
        open_checkpoint(folder)


def test_text_is_utf_8(folder: Path) -> None:
    (folder / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(ExportError, match=r"chat_template.jinja is not UTF-8"):
        open_checkpoint(folder).text("chat_template.jinja")


def test_a_folder_in_place_of_a_file(folder: Path) -> None:
    (folder / "tokenizer.json").mkdir()
    with pytest.raises(ExportError, match="no regular file"):
        open_checkpoint(folder).text("tokenizer.json")


def test_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    assert open_checkpoint(folder).text("tokenizer.json") is None
    with pytest.raises(ExportError, match="is no folder"):
        open_checkpoint(tmp_path / "nowhere")
    with pytest.raises(ExportError, match=r"has no config.json"):
        Checkpoint(tmp_path)
