"""Tiny checkpoints as they come from the Hub, with random weights and a real tokenizer.

A folder has `config.json`, `generation_config.json`, `model.safetensors`, `tokenizer.json`,
`tokenizer_config.json` and `chat_template.jinja`. Its tokens are bytes, a few merges, and the
control tokens and tags below. torch and transformers are imported by the first call only.
"""

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""The first one pads, the last one ends a turn."""
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
"""Added tokens whose text is part of an answer."""
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_PLAIN = 272
_VOCABULARY = 288
_SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 4096,
    "vocab_size": _VOCABULARY,
    "initializer_range": 0.1,
    "tie_word_embeddings": False,
}
_LINEAR: dict[str, Any] = {
    "num_hidden_layers": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
}
_EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 48,
}
_FILLED: dict[str, Any] = {"head_dim": 16}
"""For classes whose heads together are as wide as the hidden size."""
_GEMMA3: dict[str, Any] = {
    "sliding_window": 24,
    "num_hidden_layers": 4,
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
    "query_pre_attn_scalar": 32,
    "tie_word_embeddings": True,
}
_OWN: Mapping[str, dict[str, Any]] = {
    "gemma2": {
        "sliding_window": 24,
        "num_hidden_layers": 4,
        "query_pre_attn_scalar": 32,
        "tie_word_embeddings": True,
    },
    "gemma3_text": _GEMMA3,
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 24},
    "granite": {
        "embedding_multiplier": 4.0,
        "attention_multiplier": 0.3,
        "residual_multiplier": 0.7,
        "logits_scaling": 2.0,
    },
    "lfm2": _FILLED | {"num_hidden_layers": 4, "full_attn_idxs": [1, 3]},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None},
    "olmo2": _FILLED,
    "phi3": _FILLED | {"original_max_position_embeddings": 4096},
    "qwen2": _FILLED,
    "qwen2_moe": _FILLED | _EXPERTS | {"shared_expert_intermediate_size": 48},
    "qwen3_moe": _EXPERTS | {"norm_topk_prob": True},
    "qwen3_5_text": _LINEAR,
    "qwen3_5_moe_text": _LINEAR | _EXPERTS | {"shared_expert_intermediate_size": 48},
}
"""What is special about an architecture, beyond `_SIZES`."""
_SEES: Mapping[str, str] = {
    "gemma3": "gemma3_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
}
"""Those that see, and the language model in them, which `values` describe."""
_VISION: dict[str, Any] = {
    "depth": 1,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "num_position_embeddings": 16,
    "image_size": 16,
    "patch_size": 4,
    "out_hidden_size": 64,
}
"""The vision towers of all of them, each of which takes what it knows."""


@cache
def checkpoint(architecture: str) -> Path:
    """One for all tests of a run, which leave it as it is. See `make`."""
    folder = Path(tempfile.mkdtemp(prefix=f"tiny-{architecture}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return make(folder, architecture)


def make(folder: Path, architecture: str, *, vary: bool = False, **values: Any) -> Path:
    """Writes a checkpoint into the folder, which it returns, the same for the same arguments.

    `architecture` is a `model_type` of transformers; `values` go into its configuration. The rows
    of control tokens and of padding in the output matrix are zero, if it has one of its own: such
    a token is all but never sampled. `vary`: norms, biases and decays differ as well, which all
    begin the same; one that is mistaken for another is then noticed.
    """
    import torch
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForImageTextToText,
        GenerationConfig,
    )
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    end, pad = _number("<|im_end|>"), _number("<|endoftext|>")
    ids = {"eos_token_id": end, "pad_token_id": pad, "bos_token_id": None}
    text = _SEES.get(architecture, architecture)
    settings: dict[str, Any] = {**_SIZES, **_OWN.get(text, {}), **values, **ids}
    if text != architecture:
        tied = settings["tie_word_embeddings"]
        settings = {"text_config": settings, "vision_config": _VISION, "tie_word_embeddings": tied}
    config = AutoConfig.for_model(architecture, **settings)
    torch.manual_seed(0)
    loader = AutoModelForCausalLM if text == architecture else AutoModelForImageTextToText
    model = loader.from_config(config, dtype=torch.float32)
    if vary:
        _vary(model)
    output = model.get_output_embeddings()
    if not config.get_text_config().tie_word_embeddings and output is not None:
        with torch.no_grad():
            output.weight[_PLAIN:] = 0
    model.generation_config = GenerationConfig(eos_token_id=[end, pad], pad_token_id=pad)
    model.save_pretrained(folder)
    _write_tokenizer(folder)
    return folder


def _vary(model: Any) -> None:
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1 or "bias" in name:
                parameter += 0.2 * torch.randn_like(parameter)


def _number(text: str) -> int:
    return _PLAIN + (*CONTROL, *TAGS).index(text)


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_PLAIN,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        ["the man and the land, in an hour of the other line\n\n"], trainer
    )
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in CONTROL])
    tokenizer.add_tokens([AddedToken(text, special=False) for text in TAGS])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": _SIZES["max_position_embeddings"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
