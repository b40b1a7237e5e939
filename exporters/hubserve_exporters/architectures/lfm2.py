"""LFM2."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from hubserve_exporters.architectures.base import BLOCK, LAYER, Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding
from hubserve_exporters.architectures.layers import FULL, both_kinds, layer_kinds, layers_of
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Squeeze

_CONVOLUTION = "conv"


class Lfm2(Architecture):
    """Most layers have a short convolution in the place of attention."""

    gguf = "lfm2"
    filled = True
    defaults: ClassVar[Defaults] = {
        "rope_theta": 1e6,
        "norm_eps": 1e-5,
        "num_key_value_heads": 8,
        "conv_L_cache": 3,
        "max_position_embeddings": 128000,
        "tie_word_embeddings": True,
    }

    def rules(self) -> list[Rule]:
        attending, convolving = (layers_of(self.kinds, kind) for kind in (FULL, _CONVOLUTION))
        norms = {"operator_norm": "attn_norm", "ffn_norm": "ffn_norm"}
        attention = {
            "self_attn.q_proj": "attn_q",
            "self_attn.k_proj": "attn_k",
            "self_attn.v_proj": "attn_v",
            "self_attn.out_proj": "attn_output",
            "self_attn.q_layernorm": "attn_q_norm",
            "self_attn.k_layernorm": "attn_k_norm",
        }
        convolution = {"conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj"}
        feed_forward = {"w1": "ffn_gate", "w3": "ffn_up", "w2": "ffn_down"}
        return [
            *self.ends(norm="model.embedding_norm", target="token_embd_norm"),
            *self.norms(norms),
            *(one.within(attending) for one in self.matrices(attention)),
            *(one.within(convolving) for one in self.matrices(convolution)),
            rule(
                f"{LAYER}.conv.conv.weight",
                f"{BLOCK}.shortconv.conv.weight",
                Squeeze(1),
                float32=True,
                layers=convolving,
            ),
            *self.matrices({f"feed_forward.{name}": to for name, to in feed_forward.items()}),
        ]

    @cached_property
    def kinds(self) -> list[str]:
        """What each layer is: attention or convolution."""
        attending = self.config.integers("full_attn_idxs", range(self.layers))
        usual = [FULL if layer in attending else _CONVOLUTION for layer in range(self.layers)]
        return layer_kinds(self.config, usual, (FULL, _CONVOLUTION))

    @cached_property
    def tied(self) -> bool:
        """The first checkpoints have another key for it."""
        return self.config.flag("tie_embedding", super().tied)

    @property
    def feed_forward_length(self) -> int:
        """The configuration has it before it is rounded, in several ways; the tensors have it."""
        return self.shapes.get("model.layers.0.feed_forward.w1.weight", (0,))[0]

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | {
            "attention.head_count_kv": [self.kv_heads if k == FULL else 0 for k in self.kinds],
            "attention.layer_norm_rms_epsilon": self.config.number("norm_eps"),
            "shortconv.l_cache": self.config.positive("conv_L_cache"),
        }

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        yield from both_kinds(self.kinds, self.gguf)
