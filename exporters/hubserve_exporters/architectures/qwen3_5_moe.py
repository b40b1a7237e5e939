"""Qwen3.5 with experts: the language model, also out of a checkpoint that can see."""

from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.experts import SharedExpert
from hubserve_exporters.architectures.qwen3_5 import Qwen35


class Qwen35Moe(SharedExpert, Qwen35):
    """One expert is always asked; there is no feed forward beside them."""

    gguf = "qwen35moe"
    feed_forward_length = None
    defaults: ClassVar[Defaults] = {
        **Qwen35.defaults,
        "num_key_value_heads": 2,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    }
