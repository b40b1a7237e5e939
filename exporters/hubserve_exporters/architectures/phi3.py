"""Phi-3, Phi-3.5 and Phi-4."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding
from hubserve_exporters.architectures.layers import unwindowed
from hubserve_exporters.architectures.rope import Rope
from hubserve_exporters.architectures.rules import Rule


class Phi3(Architecture):
    """Queries, keys and values are one matrix, gate and up another; llama.cpp keeps them so."""

    gguf = "phi3"
    ropes = ("default", "longrope")
    partial_rope = True
    filled = True
    defaults: ClassVar[Defaults] = {"rms_norm_eps": 1e-5, "original_max_position_embeddings": 4096}

    def rules(self) -> list[Rule]:
        norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
        return [
            *self.ends(),
            *self.norms(norms),
            *self.linear("self_attn.qkv_proj", "attn_qkv"),
            *self.linear("self_attn.o_proj", "attn_output"),
            *self.linear("mlp.gate_up_proj", "ffn_up"),
            *self.linear("mlp.down_proj", "ffn_down"),
        ]

    @cached_property
    def rope(self) -> Rope:
        """transformers takes the name that the first checkpoints have, yarn, for longrope here."""
        rope = super().rope
        return replace(rope, kind="longrope") if rope.kind == "yarn" else rope

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        yield from unwindowed(self.config)
