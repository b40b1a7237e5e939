"""Qwen3."""

from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.qwen2 import Qwen2
from hubserve_exporters.architectures.rules import Rule


class Qwen3(Qwen2):
    """Qwen2 with norms of queries and keys, and heads of any size."""

    gguf = "qwen3"
    filled = False
    defaults: ClassVar[Defaults] = {**Qwen2.defaults, "head_dim": 128}

    def rules(self) -> list[Rule]:
        norms = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
        return [*super().rules(), *self.norms(norms)]
