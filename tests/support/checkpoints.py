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
_OWN: Mapping[str, dict[str, Any]] = {
    "gemma2": {"sliding_window": 24, "num_hidden_layers": 4, "query_pre_attn_scalar": 32},
    "gemma3_text": {
        "sliding_window": 24,
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
        "query_pre_attn_scalar": 32,
    },
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": _EXPERTS | {"shared_expert_intermediate_size": 48},
    "qwen3_moe": _EXPERTS,
    "qwen3_5_text": _LINEAR,
    "qwen3_5_moe_text": _LINEAR | _EXPERTS | {"shared_expert_intermediate_size": 48},
}
"""What is special about an architecture, beyond `_SIZES`."""


@cache
def checkpoint(architecture: str) -> Path:
    """One for all tests of a run, which leave it as it is. See `make`."""
    folder = Path(tempfile.mkdtemp(prefix=f"tiny-{architecture}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return make(folder, architecture)


def make(folder: Path, architecture: str, **values: Any) -> Path:
    """Writes a checkpoint into the folder, which it returns, the same for the same arguments.

    `architecture` is a `model_type` of transformers; `values` go into its configuration. The rows
    of control tokens and of padding in the output matrix are zero, if it has one of its own: such
    a token is all but never sampled.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    end, pad = _number("<|im_end|>"), _number("<|endoftext|>")
    settings = {**_SIZES, **_OWN.get(architecture, {}), **values}
    config = AutoConfig.for_model(
        architecture, **settings, eos_token_id=end, pad_token_id=pad, bos_token_id=None
    )
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    output = model.get_output_embeddings()
    if not config.tie_word_embeddings and output is not None:
        with torch.no_grad():
            output.weight[_PLAIN:] = 0
    model.generation_config = GenerationConfig(eos_token_id=[end, pad], pad_token_id=pad)
    model.save_pretrained(folder)
    _write_tokenizer(folder)
    return folder


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
