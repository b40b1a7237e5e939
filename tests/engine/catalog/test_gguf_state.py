"""Figures that have no other source in a comment are worked out by hand from the shapes."""

from pathlib import Path

import pytest
from tests.support.gguf_builder import Value, write_gguf

from hubserve_engine.catalog.gguf_model import read_model
from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.errors import ResolveError

LAYERS, WIDTH, HEADS = 4, 64, 4


def _state(folder: Path, architecture: str, keys: dict[str, Value]) -> StateSize:
    usual: dict[str, Value] = {
        "block_count": LAYERS,
        "embedding_length": WIDTH,
        "attention.head_count": HEADS,
    }
    metadata = {f"{architecture}.{key}": value for key, value in {**usual, **keys}.items()}
    path = write_gguf(folder / "model.gguf", metadata, architecture=architecture)
    return read_model([path]).state


@pytest.mark.parametrize(
    ("architecture", "keys", "per_token", "per_sequence"),
    [
        pytest.param("llama", {}, 4 * 4 * (16 + 16) * 2, 0, id="many heads, all of them kept"),
        pytest.param(
            "llama", {"attention.head_count_kv": 2}, 4 * 2 * 32 * 2, 0, id="grouped heads"
        ),
        pytest.param(
            "llama",
            {"attention.head_count_kv": [1, 2, 3, 4]},
            (1 + 2 + 3 + 4) * 32 * 2,
            0,
            id="other groups in each layer",
        ),
        pytest.param(
            "llama",
            {"attention.key_length": 24, "attention.value_length": 8},
            4 * 4 * (24 + 8) * 2,
            0,
            id="heads of their own length",
        ),
        pytest.param(
            "gemma4",
            {
                "attention.key_length": 32,
                "attention.value_length": 32,
                "attention.key_length_swa": 16,
                "attention.value_length_swa": 16,
                "attention.sliding_window": 512,
                "attention.sliding_window_pattern": [True, True, True, False],
                "attention.head_count_kv": 1,
                "attention.shared_kv_layers": 1,
            },
            # The last layer, the only wide one, takes the keys and values of an earlier one.
            3 * (16 + 16) * 2,
            0,
            id="windows with smaller heads, shared layers",
        ),
        pytest.param(
            "deepseek2",
            {
                "attention.head_count_kv": 1,
                "attention.key_length": 40,
                "attention.value_length": 32,
                "attention.key_length_mla": 24,
            },
            4 * 40 * 2,
            0,
            id="latent attention",
        ),
        pytest.param(
            "mamba",
            {
                "attention.head_count": 0,
                "ssm.conv_kernel": 4,
                "ssm.inner_size": 128,
                "ssm.state_size": 16,
            },
            0,
            4 * (3 * 128 + 16 * 128) * 4,
            id="recurrent throughout",
        ),
        pytest.param(
            "qwen35",
            {
                "attention.head_count_kv": 2,
                "ssm.conv_kernel": 4,
                "ssm.inner_size": 128,
                "ssm.state_size": 32,
                "ssm.group_count": 2,
            },
            2 * 32 * 2,
            3 * (3 * (128 + 2 * 2 * 32) + 32 * 128) * 4,
            id="every fourth layer has attention",
        ),
        pytest.param(
            "qwen35",
            {
                "attention.recurrent_layers": [True, False, False, False],
                "ssm.conv_kernel": 1,
                "ssm.inner_size": 128,
                "ssm.state_size": 32,
            },
            3 * 4 * 32 * 2,
            32 * 128 * 4,
            id="recurrent layers by name",
        ),
        pytest.param(
            "lfm2",
            {"attention.head_count_kv": [0, 0, 2, 2], "shortconv.l_cache": 3},
            2 * 2 * 32 * 2,
            2 * WIDTH * 2 * 4,
            id="convolutions where there are no heads",
        ),
        pytest.param(
            "falcon-h1",
            {"ssm.conv_kernel": 1, "ssm.inner_size": 128, "ssm.state_size": 16},
            4 * 4 * 32 * 2,
            4 * 16 * 128 * 4,
            id="both in every layer",
        ),
        pytest.param(
            "rwkv7",
            {"attention.head_count": 0, "wkv.head_size": 16, "token_shift_count": 2},
            0,
            4 * (2 * WIDTH + WIDTH * 16) * 4,
            id="token shift",
        ),
    ],
)
def test_the_state_of_an_architecture(
    tmp_path: Path,
    architecture: str,
    keys: dict[str, Value],
    per_token: int,
    per_sequence: int,
) -> None:
    state = _state(tmp_path, architecture, keys)
    assert (state.per_token(), state.per_sequence) == (per_token, per_sequence)
    assert state.windowed == ("attention.sliding_window" in keys)


def test_too_few_values_for_the_layers_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResolveError, match=r"head_count_kv' has 2 values for 4 layers"):
        _state(tmp_path, "llama", {"attention.head_count_kv": [1, 2]})


def test_more_layers_than_there_can_be_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResolveError, match="claims 4294967295 layers"):
        _state(tmp_path, "llama", {"block_count": 2**32 - 1})


def test_a_state_in_other_types() -> None:
    state = StateSize(keys=64, values=32, per_sequence=0, heads=1, windowed=False)
    assert state.per_token() == 2 * 96
    assert state.per_token("f32", "f16") == 4 * 64 + 2 * 32
    assert state.per_token("q8_0", "q4_0") == 2 * 34 + 18
