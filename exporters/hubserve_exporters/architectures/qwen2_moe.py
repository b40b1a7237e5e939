"""Qwen1.5-MoE and Qwen2-MoE."""

from collections.abc import Sequence
from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.experts import SharedExpert
from hubserve_exporters.architectures.layers import FULL, SLIDING, layer_kinds
from hubserve_exporters.architectures.qwen2 import Qwen2


class Qwen2Moe(SharedExpert, Qwen2):
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

    def window_kinds(self) -> Sequence[str]:
        """Of the first `max_window_layers` every other one has a window, in transformers."""
        last = self.config.integer("max_window_layers", 28)
        usual = [SLIDING if n < last and n % 2 == 0 else FULL for n in range(self.layers)]
        return layer_kinds(self.config, usual, (SLIDING, FULL))
