"""From a checkpoint to a file, from end to end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.exporters.test_importance import old_form
from tests.support.checkpoints import checkpoint

from hubserve_exporters import Exported, ExportError, GGUFExportConfig, GGUFReader, export_gguf
from hubserve_exporters import export as module
from hubserve_exporters.checkpoint import WEIGHTS

PEAK = """
import sys
from pathlib import Path
from hubserve_exporters import GGUFExportConfig, export_gguf

def peak_after(checkpoint):
    out = GGUFExportConfig(Path("it.gguf"), dtype=sys.argv[3], tokenizer="none", check="none")
    export_gguf(checkpoint, out)
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return 1024 * int(peak.split()[1])

small, large = map(peak_after, sys.argv[1:3])
print(large - small)
"""
"""What a process has at most with a small checkpoint, and how much more with another, in bytes."""


def export(folder: Path, out_path: Path, **options: Any) -> Exported:
    options = {"tokenizer": "none", "check": "none", **options}
    return export_gguf(folder, GGUFExportConfig(out_path, **options))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint that a test may change."""
    return shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")


def change_config(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_weights(folder: Path, **values: Any) -> dict[str, Any]:
    """Replaces tensors (None takes one away), and gives all of them."""
    weights = {**load_file(folder / WEIGHTS), **values}
    weights = {name: value for name, value in weights.items() if value is not None}
    save_file(weights, folder / WEIGHTS)
    return weights


def test_the_file_says_what_is_in_it(tmp_path: Path) -> None:
    done = export(checkpoint("llama"), tmp_path / "it.gguf", dtype="f16", name="It")
    assert done.files == (tmp_path / "it.gguf",)
    assert done.size == done.files[0].stat().st_size
    assert done.types.keys() == {"F16", "F32"}
    assert done.architecture == "llama"
    with GGUFReader(done.files[0]) as reader:
        assert reader.metadata["general.name"] == "It"
        assert reader.metadata["general.file_type"] == 1
        assert reader.metadata["llama.block_count"] == 2
        assert reader.metadata["llama.attention.head_count_kv"] == 2
        assert reader.tensors["token_embd.weight"].shape == (64, 288)
        assert reader.tensor("output_norm.weight").dtype == np.float32


def test_the_architecture_is_that_of_the_configuration_unless_one_is_named(
    folder: Path, tmp_path: Path
) -> None:
    change_config(folder, architectures=["SomebodysLlama"])
    with pytest.raises(ExportError, match="'SomebodysLlama' cannot be exported"):
        export(folder, tmp_path / "it.gguf")
    done = export(folder, tmp_path / "it.gguf", architecture="LlamaForCausalLM")
    assert done.architecture == "llama"


def test_progress_ends_at_all_of_it(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    config = GGUFExportConfig(tmp_path / "it.gguf", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config, lambda written, total: seen.append((written, total)))
    assert [written for written, _ in seen] == sorted(written for written, _ in seen)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("source", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_the_type_is_that_of_the_checkpoint_unless_one_is_named(
    source: Any, folder: Path, tmp_path: Path
) -> None:
    weights = load_file(folder / WEIGHTS)
    save_file({name: value.astype(source) for name, value in weights.items()}, folder / WEIGHTS)
    export(folder, tmp_path / "it.gguf")
    with GGUFReader(tmp_path / "it.gguf") as reader:
        assert reader.tensor("token_embd.weight").dtype == source


def test_halves_end_where_half_precision_ends(folder: Path, tmp_path: Path) -> None:
    embedding = load_file(folder / WEIGHTS)["model.embed_tokens.weight"]
    embedding[0, :2] = 1e6, -1e6
    change_weights(folder, **{"model.embed_tokens.weight": embedding})
    export(folder, tmp_path / "it.gguf", dtype="f16")
    with GGUFReader(tmp_path / "it.gguf") as reader:
        assert reader.tensor("token_embd.weight")[0, :2].tolist() == [65504, -65504]


def test_a_large_file_is_written_in_parts(tmp_path: Path) -> None:
    done = export(checkpoint("llama"), tmp_path / "it.gguf", dtype="f32", split_max_size=200_000)
    assert [path.name for path in done.files] == [
        f"it-{number}-of-00003.gguf" for number in ("00001", "00002", "00003")
    ]
    with GGUFReader(done.files[1]) as reader:
        assert reader.metadata["split.count"] == 3
        assert len(reader.tensors) == 21


def test_a_file_that_was_there_is_replaced_at_the_end(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "it.gguf"
    path.write_text("old")
    change_weights(folder, **{"model.norm.weight": np.full(64, np.nan, np.float32)})
    with pytest.raises(ExportError, match=r"'model.norm.weight'.*infinite or none"):
        export(folder, path)
    assert path.read_text() == "old"
    assert {found.name for found in tmp_path.iterdir()} == {"checkpoint", "it.gguf"}
    export(checkpoint("llama"), path)
    assert path.read_bytes()[:4] == b"GGUF"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak")
@pytest.mark.parametrize("source", ["float16", "bfloat16"])
def test_memory_does_not_grow_with_the_tensors(source: str, folder: Path, tmp_path: Path) -> None:
    rows = np.ones((2**19, 64), source)
    largest = 4 * rows.size
    change_weights(folder, **{"model.embed_tokens.weight": rows, "lm_head.weight": rows})
    del rows
    for dtype in ("f16", "bf16", "f32", "q8_0"):
        command = [sys.executable, "-c", PEAK, str(checkpoint("llama")), str(folder), dtype]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        # Half a copy of it in 32 bits would be seen; the bound for large ones is one and a half.
        assert 0 <= int(done.stdout) < largest / 2, dtype


@pytest.mark.parametrize("dtype", ["f32", "q4_k_m"])
def test_what_a_killed_export_left_is_in_nobodys_way(tmp_path: Path, dtype: str) -> None:
    for left in ("it.gguf", "unquantized/it.gguf"):
        path = tmp_path / "it.gguf.partial" / left
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    export(checkpoint("llama"), tmp_path / "it.gguf", dtype=dtype)
    assert [found.name for found in tmp_path.iterdir()] == ["it.gguf"]


def test_a_tied_output_that_is_a_copy_is_left_out(folder: Path, tmp_path: Path) -> None:
    change_config(folder, tie_word_embeddings=True)
    weights = load_file(folder / WEIGHTS)
    change_weights(folder, **{"lm_head.weight": weights["model.embed_tokens.weight"]})
    export(folder, tmp_path / "it.gguf")
    with GGUFReader(tmp_path / "it.gguf") as reader:
        assert "output.weight" not in reader.tensors
        assert list(reader.metadata.strings("hubserve.dropped") or ()) == ["lm_head.weight"]


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"architectures": ["NoSuchForCausalLM"]}, {}, "'NoSuchForCausalLM' cannot be exported"),
    ({"architectures": ["LlamaForCausalLMs"]}, {}, "did you mean LlamaForCausalLM"),
    ({"architectures": []}, {}, "names 0 architectures"),
    ({"hidden_act": "gelu"}, {}, "'hidden_act' is 'gelu'"),
    ({"num_hidden_layers": "two"}, {}, "'num_hidden_layers' is 'two'; it has to be a whole number"),
    ({"num_hidden_layers": 3}, {}, r"lacks 'model.layers.2.input_layernorm.weight'"),
    ({"num_hidden_layers": 1}, {}, r"'model.layers.1.*' and 8 more has no place .* \(1 layers\)"),
    ({"num_attention_heads": 24}, {}, "q_proj.weight': its 128 rows do not divide"),
    ({"max_position_embeddings": None}, {}, "has no 'max_position_embeddings'"),
    ({"tie_word_embeddings": True}, {}, "the two differ"),
    ({"rope_parameters": {"rope_type": "spiral"}}, {}, "the rope type 'spiral' is not known"),
    ({"quantization_config": {"quant_method": "gptq"}}, {}, r"is quantized \(gptq\)"),
    ({}, {"lm_head.weight": None}, "lacks 'lm_head.weight'"),
    ({}, {"model.extra.weight": np.zeros(3, np.float32)}, "'model.extra.weight' has no place"),
    ({}, {"model.empty.weight": np.zeros((0, 3), np.float32)}, "it is empty"),
    (
        {},
        {"model.layers.0.self_attn.q_proj.qweight": np.zeros((2, 2), np.int32)},
        "quantized .*GPTQ or AWQ",
    ),
]


@pytest.mark.parametrize(("config", "weights", "message"), REFUSED, ids=lambda value: str(value))
def test_what_cannot_be_right_is_refused_and_leaves_nothing(
    config: dict[str, Any], weights: dict[str, Any], message: str, folder: Path, tmp_path: Path
) -> None:
    change_config(folder, **config)
    change_weights(folder, **weights)
    with pytest.raises(ExportError, match=message):
        export(folder, tmp_path / "out" / "it.gguf")
    assert not (tmp_path / "out").exists()


def test_buffers_that_can_be_computed_are_left_out(folder: Path, tmp_path: Path) -> None:
    change_weights(
        folder, **{"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(16, np.float32)}
    )
    export(folder, tmp_path / "it.gguf")
    with GGUFReader(tmp_path / "it.gguf") as reader:
        assert len(reader.tensors) == 21


def test_the_path_says_what_the_file_is(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"has to end in .gguf"):
        export(checkpoint("llama"), tmp_path / "it.bin")


@pytest.mark.parametrize("limit", [None, 60_000])
def test_a_scheme_of_llama_cpp_leaves_nothing_but_its_files(
    tmp_path: Path, limit: int | None
) -> None:
    seen: list[tuple[int, int]] = []
    config = GGUFExportConfig(
        tmp_path / "out" / "it.gguf",
        dtype="Q4_K_M",
        tokenizer="none",
        check="fast",
        split_max_size=limit,
    )
    done = export_gguf(checkpoint("llama"), config, lambda *counts: seen.append(counts))
    # Rows of 64 and 96 do not divide into blocks of 256.
    assert done.types.keys() == {"Q5_0", "Q8_0", "F32"}
    assert [written for written, _ in seen] == sorted(written for written, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert sorted(done.files) == sorted((tmp_path / "out").iterdir())
    assert done.checked == ("structure", "a decode in llama.cpp")
    assert done.size == sum(path.stat().st_size for path in done.files)
    with GGUFReader(done.files[0]) as reader:
        assert reader.metadata["general.file_type"] == 8
        assert sum(info.size for info in reader.tensors.values()) == sum(
            size for _, size in done.types.values()
        )
    if limit is None:
        assert [path.name for path in done.files] == ["it.gguf"]
    else:
        assert len(done.files) > 1
        assert all(path.stat().st_size < limit + 20_000 for path in done.files)


def test_a_matrix_of_importance_is_looked_at_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "aside", lambda _: pytest.fail("nothing"))
    with pytest.raises(ExportError, match="is of no use for f16; choose a type such as q4_k_m"):
        export(
            checkpoint("llama"), tmp_path / "it.gguf", dtype="f16", importance=tmp_path / "m.dat"
        )
    with pytest.raises(ExportError, match="iq1_s needs an importance matrix"):
        export(checkpoint("llama"), tmp_path / "it.gguf", dtype="iq1_s")
    with pytest.raises(ExportError, match=r"m\.dat' cannot be read"):
        export(
            checkpoint("llama"), tmp_path / "it.gguf", dtype="q6_k", importance=tmp_path / "m.dat"
        )
    other = tmp_path / "other.dat"
    other.write_bytes(old_form({"blk.9.attn_q.weight": ([1.0], 1)}))
    with pytest.raises(ExportError, match=r"has an entry for 'blk\.9\.attn_q\.weight', which this"):
        export(checkpoint("llama"), tmp_path / "it.gguf", dtype="q6_k", importance=other)
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.parametrize("dtype", ["f32", "q4_k_m"])
def test_a_vocabulary_alone_has_no_weights(tmp_path: Path, dtype: str) -> None:
    done = export(checkpoint("llama"), tmp_path / "it.gguf", dtype=dtype, vocab_only=True)
    assert done.types == {}
    with GGUFReader(done.files[0]) as reader:
        assert not reader.tensors and reader.metadata["llama.block_count"] == 2
