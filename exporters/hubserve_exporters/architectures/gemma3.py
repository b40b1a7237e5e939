"""Gemma 3: the language model, also out of a checkpoint that can see."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from hubserve_exporters.architectures.base import Defaults
from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.gemma2 import Gemma2
from hubserve_exporters.architectures.layers import SLIDING, window_kinds
from hubserve_exporters.architectures.rope import Rope, rope_of
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.config import Config
from hubserve_exporters.gguf.writer import Value


class Gemma3(Gemma2):
    """Five of six layers have a sliding window and a rotary embedding of their own."""

    gguf = "gemma3"
    ropes = ("default", "linear")
    wide_layers = 62
    separate_output = True
    defaults: ClassVar[Defaults] = {
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131072,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "tie_word_embeddings": True,
    }

    @property
    def period(self) -> int:
        return self.config.positive("sliding_window_pattern", 6)

    def rules(self) -> list[Rule]:
        norms = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
        return [*super().rules(), *self.norms(norms)]

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | {"rope.freq_base_swa": self.local_rope.base}

    def windows(self) -> dict[str, Value]:
        """llama.cpp takes the absence of a window for what it is, here alone."""
        kinds = window_kinds(self.config, self.period, self.layers)
        return super().windows() if SLIDING in kinds else {}

    def caps(self) -> dict[str, Value]:
        if "final_logit_softcapping" not in self.config:
            return {}
        return {"final_logit_softcapping": self.config.number("final_logit_softcapping")}

    @cached_property
    def rope(self) -> Rope:
        """That of the layers that see everything."""
        parameters = self.config.part("rope_scaling") or self._parameters("full_attention")
        return rope_of(self.config, parameters, self.config.number("rope_theta", 1e6))

    @cached_property
    def local_rope(self) -> Rope:
        """That of the layers with a window."""
        base = self.config.number("rope_local_base_freq", 10000.0)
        return rope_of(self.config, self._parameters("sliding_attention"), base)

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        if self.local_rope.kind != "default":
            yield Refuse(
                "config.json: the layers with a window have the rope type"
                f" {self.local_rope.kind!r}; llama.cpp scales none there."
            )
        if "attn_logit_softcapping" in self.config:
            yield Refuse(
                "config.json: 'attn_logit_softcapping' is set; llama.cpp does not cap the logits of"
                " attention for gemma3."
            )

    def _parameters(self, kind: str) -> Config | None:
        parameters = self.config.part("rope_parameters")
        return parameters.part(kind) if parameters else None
