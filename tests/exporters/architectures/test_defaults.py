"""What config.json leaves out is what the class of transformers takes."""

from typing import Any

import pytest

from hubserve_exporters.architectures import TABLE, find
from hubserve_exporters.architectures.qwen2 import Qwen2
from hubserve_exporters.config import Config, merged

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
}
CLASSES = sorted(name for name in TABLE if name.endswith("ForCausalLM"))


def whole(name: str, **values: Any) -> dict[str, Any]:
    """The configuration with every value that it has in transformers."""
    import transformers

    config: dict[str, Any] = getattr(transformers, name).config_class(**values).to_dict()
    return config


@pytest.mark.parametrize("name", CLASSES)
def test_the_file_is_the_same_with_what_is_left_out(name: str) -> None:
    family = find(name)
    sparse = family(Config(SIZES), {})
    full = family(Config(whole(name, **SIZES)), {})

    assert sparse.metadata() == full.metadata()
    assert sparse.tied == full.tied
    assert list(sparse.guards()) == list(full.guards())


@pytest.mark.parametrize("first", [0, 1, 3, 4])
@pytest.mark.parametrize("name", ["Qwen2", "Qwen2Moe", "Qwen3"])
def test_the_layers_that_have_a_window_are_those_of_transformers(name: str, first: int) -> None:
    values = {**SIZES, "use_sliding_window": True, "sliding_window": 32, "max_window_layers": first}
    family = find(f"{name}ForCausalLM")(Config(values), {})
    assert isinstance(family, Qwen2)
    assert list(family.window_kinds()) == whole(f"{name}ForCausalLM", **values)["layer_types"]


def test_the_language_model_of_a_gemma_that_sees_may_be_described_in_few_words() -> None:
    text = {"model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560}
    config = merged({"model_type": "gemma3", "text_config": text, "vision_config": {}})
    family = find("Gemma3ForConditionalGeneration")(config, {})

    full = find("Gemma3ForCausalLM")(Config(whole("Gemma3ForCausalLM", **text)), {})
    assert family.metadata() == full.metadata()
    assert family.tied
