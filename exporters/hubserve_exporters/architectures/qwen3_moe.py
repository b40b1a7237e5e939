"""Qwen3-MoE."""

from collections.abc import Sequence
from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.experts import Experts
from hubserve_exporters.architectures.layers import SLIDING
from hubserve_exporters.architectures.qwen3 import Qwen3
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.gguf.writer import Value


class Qwen3Moe(Experts, Qwen3):
    gguf = "qwen3moe"
    normalized = True
    defaults: ClassVar[Defaults] = {
        "num_key_value_heads": 4,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
        "sliding_window": 4096,
    }

    def feed_forward(self) -> list[Rule]:
        return self.expert_rules()

    def metadata(self) -> dict[str, Value]:
        length = self.config.positive("moe_intermediate_size")
        return super().metadata() | {"expert_feed_forward_length": length}

    def window_kinds(self) -> Sequence[str]:
        """All have it in transformers, whatever `layer_types` says."""
        return [SLIDING] * self.layers
