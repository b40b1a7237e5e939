"""Llama 1 to 3, Mistral, SmolLM 1 and 2, and what else was built after them."""

from collections.abc import Iterator
from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding
from hubserve_exporters.architectures.layers import unwindowed
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Permute


class Llama(Architecture):
    gguf = "llama"
    ropes = (*Architecture.ropes, "llama3", "longrope")
    frequency_factors = True

    def rules(self) -> list[Rule]:
        norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
        return [*self.ends(), *self.norms(norms), *self.rotated_pairs(), *self.feed_forward()]

    def rotated_pairs(self) -> list[Rule]:
        """Attention whose queries and keys llama.cpp rotates in pairs of neighbours."""
        return self.attention(query=(Permute(self.heads),), key=(Permute(self.kv_heads),))

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | {"rope.dimension_count": self.head_size}


class Mistral(Llama):
    """llama.cpp's `llama` has no sliding window: longer than that it would see too much."""

    defaults: ClassVar[Defaults] = {"sliding_window": 4096, "num_key_value_heads": 8}

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        yield from unwindowed(self.config)
