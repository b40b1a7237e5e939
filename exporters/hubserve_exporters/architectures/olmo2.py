"""OLMo 2."""

from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.rules import Rule


class Olmo2(Architecture):
    """Norms come after attention and feed forward; those of queries and keys span all heads."""

    gguf = "olmo2"
    filled = True
    biases = False
    needs_output = True
    defaults: ClassVar[Defaults] = {"rms_norm_eps": 1e-5}

    def rules(self) -> list[Rule]:
        norms = {
            "self_attn.q_norm": "attn_q_norm",
            "self_attn.k_norm": "attn_k_norm",
            "post_attention_layernorm": "post_attention_norm",
            "post_feedforward_layernorm": "post_ffw_norm",
        }
        return [*self.ends(), *self.norms(norms), *self.attention(), *self.feed_forward()]
