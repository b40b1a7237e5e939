"""Tiny checkpoints of all architectures, and of what their configurations can say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SLIDING, FULL = "sliding_attention", "full_attention"
YARN: Mapping[str, Any] = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
LLAMA3: Mapping[str, Any] = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR: Mapping[str, Any] = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
MROPE: Mapping[str, Any] = {
    "rope_theta": 1e6,
    "partial_rotary_factor": 0.5,
    "mrope_section": [3, 3, 2],
    "mrope_interleaved": True,
}


@dataclass(frozen=True)
class Case:
    """`architecture` is a model_type, `values` go into its configuration. `types`: those that the
    file is written in. `context`: llama.cpp's, in tokens."""

    architecture: str
    values: Mapping[str, Any] = field(default_factory=dict)
    types: tuple[str, ...] = ("f32",)
    context: int = 256


def _longrope(rotated: int, original: int) -> dict[str, Any]:
    return {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1 + 0.1 * i for i in range(rotated // 2)],
        "long_factor": [1.5 + 0.3 * i for i in range(rotated // 2)],
        "original_max_position_embeddings": original,
    }


def _phi3(original: int) -> dict[str, Any]:
    rope = _longrope(16, original)
    return {"original_max_position_embeddings": original, "rope_parameters": rope}


_ALL = ("f32", "f16", "bf16")
CASES: Mapping[str, Case] = {
    **{
        name: Case(name, types=_ALL)
        for name in (
            "llama",
            "mistral",
            "mixtral",
            "qwen2",
            "qwen2_moe",
            "qwen3",
            "qwen3_moe",
            "qwen3_5_text",
            "qwen3_5_moe_text",
            "gemma2",
            "gemma3_text",
            "phi3",
            "smollm3",
            "gpt_oss",
            "lfm2",
            "granite",
            "olmo2",
        )
    },
    "mistral": Case("mistral", {"sliding_window": None}, _ALL),
    "smollm3": Case("smollm3", {"num_hidden_layers": 4}, _ALL),
    # With 16 bits a router now and then chooses another expert; here it has no choice.
    "gpt_oss": Case(
        "gpt_oss", {"num_experts_per_tok": 4, "rope_parameters": {**YARN, "truncate": True}}, _ALL
    ),
    "gpt_oss, not rounded": Case(
        "gpt_oss",
        {
            "num_experts_per_tok": 4,
            "rope_parameters": {**YARN, "factor": 32.0, "truncate": False},
        },
    ),
    "llama, linear": Case("llama", {"rope_parameters": LINEAR}),
    "llama, llama3": Case("llama", {"rope_parameters": LLAMA3}),
    "llama, yarn": Case("llama", {"rope_parameters": YARN}),
    "llama, yarn with its factor": Case(
        "llama", {"rope_parameters": {**YARN, "attention_factor": 1.3}}
    ),
    "llama, yarn with mscale": Case(
        "llama", {"rope_parameters": {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3}}
    ),
    "llama, yarn with betas": Case(
        "llama", {"rope_parameters": {**YARN, "beta_fast": 16.0, "beta_slow": 2.0}}
    ),
    "llama, yarn not rounded": Case("llama", {"rope_parameters": {**YARN, "truncate": False}}),
    "llama, longrope": Case("llama", {"rope_parameters": _longrope(32, 32)}),
    "llama, dynamic": Case("llama", {"rope_parameters": {**LINEAR, "rope_type": "dynamic"}}),
    "llama, biases, tied": Case(
        "llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}
    ),
    "mistral, as long as its window": Case("mistral", {"sliding_window": 96}),
    "qwen2_moe, tied": Case("qwen2_moe", {"tie_word_embeddings": True}),
    "qwen3, yarn with its factor": Case(
        "qwen3", {"rope_parameters": {**YARN, "attention_factor": 1.3}}
    ),
    "qwen3_5, other layers": Case(
        "qwen3_5_text",
        {"layer_types": [FULL, "linear_attention", FULL, "linear_attention"]},
    ),
    "qwen3_5, as many keys as values": Case("qwen3_5_text", {"linear_num_value_heads": 2}),
    "qwen3_5, yarn": Case("qwen3_5_text", {"rope_parameters": {**MROPE, **YARN}}),
    "gemma2, without caps": Case(
        "gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}
    ),
    "gemma2, other layers": Case("gemma2", {"layer_types": [FULL, SLIDING, SLIDING, FULL]}),
    "gemma2, no window": Case("gemma2", {"layer_types": [FULL] * 4}),
    "gemma3, other layers, linear": Case(
        "gemma3_text",
        {
            "layer_types": [FULL, SLIDING, SLIDING, FULL],
            "rope_parameters": {
                FULL: {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
                SLIDING: {"rope_type": "default", "rope_theta": 5000.0},
            },
        },
    ),
    "gemma3, no window, capped": Case(
        "gemma3_text", {"layer_types": [FULL] * 4, "final_logit_softcapping": 20.0}
    ),
    "phi3, longrope beyond": Case("phi3", _phi3(32)),
    "phi3, longrope within": Case("phi3", _phi3(256) | {"max_position_embeddings": 1024}),
    "phi3, partial": Case(
        "phi3",
        {
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "partial_rotary_factor": 0.5,
            }
        },
    ),
    "smollm3, yarn": Case("smollm3", {"num_hidden_layers": 4, "rope_parameters": YARN}),
    "gpt_oss, other layers": Case(
        "gpt_oss",
        {
            "num_hidden_layers": 4,
            "layer_types": [FULL, SLIDING, SLIDING, FULL],
            "rope_parameters": {**YARN, "truncate": True},
        },
    ),
    "gpt_oss, no window, tied": Case(
        "gpt_oss",
        {
            "layer_types": [FULL] * 2,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
    ),
    "granite, biases, llama3": Case(
        "granite",
        {
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "rope_parameters": LLAMA3,
        },
    ),
    "olmo2, tied": Case("olmo2", {"tie_word_embeddings": True}),
}
