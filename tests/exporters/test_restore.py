"""A checkpoint, exported and restored, is the checkpoint."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.support.checkpoints import checkpoint, make

import hubserve_exporters.source
from hubserve_exporters import ExportError, GGUFExportConfig, export_gguf, restore_checkpoint
from hubserve_exporters.checkpoint import WEIGHTS
from hubserve_exporters.gguf.errors import GGUFError


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama of 32 bits in a file."""
    path = tmp_path_factory.mktemp("exported") / "it.gguf"
    config = GGUFExportConfig(path, dtype="f32", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config)
    return path


def test_all_of_it_is_the_same_again(file: Path, tmp_path: Path) -> None:
    source, target = checkpoint("llama"), tmp_path / "restored"
    done = restore_checkpoint(file, target)
    assert done.notes == ()
    assert {path.name for path in target.iterdir()} == {path.name for path in source.iterdir()}
    for path in source.iterdir():
        if path.name != WEIGHTS:
            assert (target / path.name).read_bytes() == path.read_bytes()
    weights = load_file(target / WEIGHTS)
    for name, values in load_file(source / WEIGHTS).items():
        np.testing.assert_array_equal(weights[name], values)


def test_transformers_loads_it(file: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    restore_checkpoint(file, tmp_path / "restored")
    _, info = AutoModelForCausalLM.from_pretrained(tmp_path / "restored", output_loading_info=True)
    assert not any(info.values())
    tokens = [
        AutoTokenizer.from_pretrained(path).encode("the man")
        for path in (checkpoint("llama"), tmp_path / "restored")
    ]
    assert tokens[0] == tokens[1]


def test_types_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    folder = make(tmp_path / "checkpoint", "llama")
    weights = load_file(folder / WEIGHTS)
    halves = {name: values.astype(np.float16) for name, values in weights.items()}
    save_file(halves, folder / WEIGHTS, {"format": "pt"})
    config = GGUFExportConfig(tmp_path / "it.gguf", dtype="q8_0", tokenizer="none", check="none")
    export_gguf(folder, config)
    restore_checkpoint(config.out_path, tmp_path / "restored")
    restored = load_file(tmp_path / "restored" / WEIGHTS)
    assert {values.dtype for values in restored.values()} == {np.dtype(np.float16)}
    np.testing.assert_array_equal(restored["model.norm.weight"], halves["model.norm.weight"])


def test_what_was_left_out_is_told(tmp_path: Path) -> None:
    folder = make(tmp_path / "checkpoint", "llama")
    buffer = "model.layers.0.self_attn.rotary_emb.inv_freq"
    weights = load_file(folder / WEIGHTS)
    save_file(weights | {buffer: np.ones(16, np.float32)}, folder / WEIGHTS)
    config = GGUFExportConfig(tmp_path / "it.gguf", tokenizer="none", check="none")
    export_gguf(folder, config)
    done = restore_checkpoint(config.out_path, tmp_path / "restored")
    assert done.notes == (f"The export left out {buffer}: they are not restored.",)


def test_a_tokenizer_that_was_too_large_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer

    monkeypatch.setattr(hubserve_exporters.source, "MAX_KEPT_BYTES", 1200)
    config = GGUFExportConfig(tmp_path / "it.gguf", check="none")
    export_gguf(checkpoint("llama"), config)
    done = restore_checkpoint(config.out_path, tmp_path / "restored")
    (note,) = done.notes
    assert note.startswith("tokenizer.json did not fit into the file")
    text = "the man and\n\n<think>ü</think><|im_end|>"
    one, other = (
        AutoTokenizer.from_pretrained(path).encode(text)
        for path in (checkpoint("llama"), tmp_path / "restored")
    )
    assert one == other


def test_nothing_is_overwritten(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="is there already"):
        restore_checkpoint(file, tmp_path)


def test_a_damaged_file_leaves_no_folder(file: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(file.read_bytes()[:-64])
    with pytest.raises(GGUFError, match="not downloaded to the end"):
        restore_checkpoint(damaged, tmp_path / "restored")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.gguf"]


def test_templates_of_several_names_come_back(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates/tool_use.jinja").write_text("A tool.")
    config = GGUFExportConfig(tmp_path / "it.gguf", tokenizer="none", check="none")
    export_gguf(folder, config)
    restore_checkpoint(config.out_path, tmp_path / "restored")
    found = tmp_path / "restored/additional_chat_templates/tool_use.jinja"
    assert found.read_text() == "A tool."


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"blk.0.attn_q.weight", b"blk.0.attn_x.weight", "lacks 'blk.0.attn_q.weight'"),
        (b"hubserve.architecture", b"hubserve.architectura", "The architecture '' cannot be"),
    ],
)
def test_what_is_not_as_it_was_written_is_a_sentence(
    file: Path, tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(file.read_bytes().replace(old, new))
    with pytest.raises(ExportError, match=said):
        restore_checkpoint(damaged, tmp_path / "restored")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.gguf"]
