"""Every bit of a checkpoint comes back out of the file that was made of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from safetensors.numpy import load_file, save_file
from tests.support.checkpoints import checkpoint, make
from tests.support.gguf_builder import write_gguf

from hubserve_exporters import (
    ExportError,
    GGUFExportConfig,
    GGUFReader,
    export_gguf,
    load_gguf_state_dict,
)
from hubserve_exporters.checkpoint import WEIGHTS
from hubserve_exporters.source import SourceTensor, read_source
from hubserve_exporters.state_dict import restored
from hubserve_exporters.tensor import Array


def round_trip(folder: Path, out_path: Path, dtype: str) -> dict[str, Array]:
    config = GGUFExportConfig(out_path, dtype=dtype, tokenizer="none", check="none")
    export_gguf(folder, config)
    return load_gguf_state_dict(out_path)


def cast(values: Array, dtype: Any) -> Array:
    """What a file of this type keeps: vectors have 32 bits."""
    return values.astype(np.float32 if values.ndim == 1 else dtype)


def assert_same_bits(one: Array, other: Array, name: str) -> None:
    assert one.dtype == other.dtype, name
    assert one.shape == other.shape, name
    assert one.tobytes() == other.tobytes(), name


@pytest.mark.parametrize(
    ("source", "dtype", "kept"),
    [
        (np.float32, "f32", np.float32),
        (np.float32, "f16", np.float16),
        (ml_dtypes.bfloat16, "bf16", ml_dtypes.bfloat16),
        (ml_dtypes.bfloat16, "f16", np.float16),
        (np.float16, "bf16", ml_dtypes.bfloat16),
        (np.float16, "f32", np.float32),
    ],
)
def test_every_bit_comes_back(source: Any, dtype: str, kept: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "checkpoint", "llama")
    weights = {name: value.astype(source) for name, value in load_file(folder / WEIGHTS).items()}
    save_file(weights, folder / WEIGHTS)
    found = round_trip(folder, tmp_path / "it.gguf", dtype)
    assert found.keys() == weights.keys()
    for name, value in weights.items():
        assert_same_bits(found[name], cast(value.astype(np.float32), kept), name)


def test_a_quantized_file_gives_exactly_what_its_blocks_stand_for(tmp_path: Path) -> None:
    folder = checkpoint("llama")
    weights = load_file(folder / WEIGHTS)
    for name, value in round_trip(folder, tmp_path / "it.gguf", "q8_0").items():
        if value.ndim == 1:
            assert_same_bits(value, weights[name], name)
            continue
        blocks = quantize(weights[name], GGMLQuantizationType.Q8_0)
        assert_same_bits(value, dequantize(blocks, GGMLQuantizationType.Q8_0), name)


def test_a_tied_output_is_not_there(tmp_path: Path) -> None:
    folder = make(tmp_path / "checkpoint", "llama", tie_word_embeddings=True)
    assert "lm_head.weight" not in round_trip(folder, tmp_path / "it.gguf", "f32")


def test_a_file_from_elsewhere_cannot_be_undone(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="only what `hubserve export` wrote"):
        load_gguf_state_dict(write_gguf(tmp_path / "it.gguf"))


def test_a_tensor_of_another_shape_than_it_had_is_refused(tmp_path: Path) -> None:
    config = GGUFExportConfig(tmp_path / "it.gguf", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config)
    with GGUFReader(config.out_path) as reader:
        source = read_source(reader.metadata)
        for name, shape in (("model.norm.weight", (32, 2)), ("lm_head.weight", (64, 288))):
            other = {**source.tensors, name: SourceTensor("F32", shape)}
            with pytest.raises(ExportError, match=f"{name!r} is not what was written: the shape"):
                dict(restored(reader, replace(source, tensors=other)))
