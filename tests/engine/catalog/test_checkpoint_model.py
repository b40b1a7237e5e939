import json
import shutil
from pathlib import Path

import pytest
from tests.support.checkpoints import checkpoint

from hubserve_engine.catalog import RawCheckpoint
from hubserve_engine.catalog.checkpoint_model import read_checkpoint
from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Sampling


def raw(folder: Path) -> RawCheckpoint:
    return RawCheckpoint("owner/repo", ("repo",), folder)


def changed(source: Path, folder: Path, name: str, **values: object) -> Path:
    copy = shutil.copytree(source, folder / "model")
    found = json.loads((copy / name).read_text())
    (copy / name).write_text(json.dumps({**found, **values}))
    return copy


def test_the_facts_of_a_checkpoint() -> None:
    folder = checkpoint("llama")
    model = read_checkpoint(raw(folder))
    assert (model.id, model.aliases, model.format) == ("owner/repo", ("repo",), "checkpoint")
    assert model.files == (folder / "config.json", folder / "model.safetensors")
    assert (model.architecture, model.quantization) == ("llama", "F32")
    assert model.size == 4 * model.parameters
    assert (model.vocabulary, model.embedding_length, model.layers) == (288, 64, 2)
    assert model.context_trained == 4096
    assert model.state == StateSize(
        keys=2 * 2 * 32, values=2 * 2 * 32, per_sequence=0, heads=4, windowed=False
    )
    assert model.sampling == Sampling()


def test_the_state_of_a_hybrid_is_what_transformers_keeps() -> None:
    """Three layers of a convolution of 4 over 2 * 64 + 128 channels, and 4 heads of 32 by 32."""
    state = read_checkpoint(raw(checkpoint("qwen3_5_text"))).state
    assert state.keys == state.values == 2 * 32
    assert state.per_sequence == 3 * 4 * (4 * 256 + 4 * 32 * 32)


def test_windows_keep_all_that_they_have_seen() -> None:
    state = read_checkpoint(raw(checkpoint("gemma3_text"))).state
    assert state.windowed and state.keys == 4 * 2 * 32


def test_recommended_sampling_is_taken(tmp_path: Path) -> None:
    values = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": None}
    folder = changed(checkpoint("llama"), tmp_path, "generation_config.json", **values)
    sampling = read_checkpoint(raw(folder)).sampling
    assert sampling == Sampling(temperature=0.6, top_k=20, top_p=0.9)


def test_who_recommends_no_sampling_recommends_nothing(tmp_path: Path) -> None:
    values = {"do_sample": False, "temperature": 0.0}
    folder = changed(checkpoint("llama"), tmp_path, "generation_config.json", **values)
    assert read_checkpoint(raw(folder)).sampling == Sampling()


def test_wrong_values_are_named(tmp_path: Path) -> None:
    folder = changed(checkpoint("llama"), tmp_path, "config.json", num_hidden_layers="two")
    with pytest.raises(ResolveError, match=r"'owner/repo' cannot be served: .*num_hidden_layers"):
        read_checkpoint(raw(folder))
