"""Mixtral: Mistral with experts."""

from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.experts import Experts
from hubserve_exporters.architectures.llama import Mistral
from hubserve_exporters.architectures.rules import Rule


class Mixtral(Experts, Mistral):
    defaults: ClassVar[Defaults] = {
        "rope_theta": 1e6,
        "rms_norm_eps": 1e-5,
        "num_key_value_heads": 8,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }

    def feed_forward(self) -> list[Rule]:
        return self.expert_rules("block_sparse_moe", parts=("w1", "w3", "w2"))
