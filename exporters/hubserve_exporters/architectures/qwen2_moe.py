"""Qwen1.5-MoE and Qwen2-MoE."""

from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.experts import Experts
from hubserve_exporters.architectures.qwen2 import Qwen2
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.gguf.writer import Value


class Qwen2Moe(Experts, Qwen2):
    """Qwen2 with experts, one of which is always asked."""

    gguf = "qwen2moe"
    needs_output = True
    normalized = False
    defaults: ClassVar[Defaults] = {
        "num_key_value_heads": 16,
        "num_experts": 60,
        "num_experts_per_tok": 4,
        "intermediate_size": 5632,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
        "sliding_window": 4096,
    }

    def feed_forward(self) -> list[Rule]:
        return [*self.expert_rules(), *self.shared_expert_rules()]

    def metadata(self) -> dict[str, Value]:
        shared = self.config.positive("shared_expert_intermediate_size")
        return super().metadata() | {
            "expert_feed_forward_length": self.config.positive("moe_intermediate_size"),
            "expert_shared_feed_forward_length": shared,
        }
