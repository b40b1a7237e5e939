"""Gemma 2."""

from collections.abc import Iterator
from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.layers import window_metadata
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import PlusOne

UNCAPPED = float(2**30)
"""A cap on logits that changes none: within it tanh is the identity in 32 bits."""


class Gemma2(Architecture):
    """Every second layer has a sliding window, norms are offsets from one, logits are capped."""

    gguf = "gemma2"
    activation_key = "hidden_activation"
    activations = ("gelu_pytorch_tanh",)
    norm_operations = (PlusOne(),)
    biases = False
    defaults: ClassVar[Defaults] = {
        "head_dim": 256,
        "max_position_embeddings": 8192,
        "num_key_value_heads": 4,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "tie_word_embeddings": True,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    }
    wide_layers: ClassVar[int] = 46
    """The number of layers by which llama.cpp knows the model of 27B, which scales otherwise."""

    separate_output: ClassVar[bool] = False
    """Whether llama.cpp can have an output matrix that is not the embedding."""

    @property
    def period(self) -> int:
        """One in so many layers sees everything, unless the configuration says which."""
        return 2

    def rules(self) -> list[Rule]:
        norms = {
            "input_layernorm": "attn_norm",
            "post_attention_layernorm": "post_attention_norm",
            "pre_feedforward_layernorm": "ffn_norm",
            "post_feedforward_layernorm": "post_ffw_norm",
        }
        return [*self.ends(), *self.norms(norms), *self.attention(), *self.feed_forward()]

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | self.windows() | self.caps()

    def windows(self) -> dict[str, Value]:
        return window_metadata(self.config, self.period, self.layers)

    def caps(self) -> dict[str, Value]:
        return {
            "attn_logit_softcapping": self.config.number("attn_logit_softcapping", UNCAPPED),
            "final_logit_softcapping": self.config.number("final_logit_softcapping", UNCAPPED),
        }

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        scalar = self.config.number("query_pre_attn_scalar")
        wide = self.layers == self.wide_layers
        computed = self.config.positive("hidden_size") // self.heads if wide else self.head_size
        if scalar != computed:
            yield Refuse(
                f"config.json: 'query_pre_attn_scalar' is {scalar:g}; llama.cpp computes with"
                f" {computed} for {self.gguf} of {self.layers} layers, whatever the file says."
            )
        if not (self.tied or self.separate_output):
            yield Refuse(
                "config.json: 'tie_word_embeddings' is false; llama.cpp takes the embedding as the"
                " output matrix for gemma2, always."
            )
        if self.config.flag("use_bidirectional_attention", False):
            yield Refuse(
                "config.json: 'use_bidirectional_attention' is true, as for embeddings; a file made"
                " here would look back only."
            )
