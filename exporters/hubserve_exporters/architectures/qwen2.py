"""Qwen2 and Qwen2.5."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding
from hubserve_exporters.architectures.layers import FULL, SLIDING, layer_kinds, unwindowed
from hubserve_exporters.architectures.rules import Rule


class Qwen2(Architecture):
    """The queries, keys and values have biases; the heads fill the hidden size exactly."""

    gguf = "qwen2"
    filled = True
    biases = False
    defaults: ClassVar[Defaults] = {"sliding_window": 4096, "num_key_value_heads": 32}

    def rules(self) -> list[Rule]:
        norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
        return [*self.ends(), *self.norms(norms), *self.attention(), *self.feed_forward()]

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        if self.config.flag("use_sliding_window", False):
            yield from unwindowed(self.config, self.window_kinds())

    def window_kinds(self) -> Sequence[str]:
        """What each layer is where windows are in use: the first `max_window_layers` have none."""
        first = self.config.integer("max_window_layers", 28)
        usual = [SLIDING if layer >= first else FULL for layer in range(self.layers)]
        return layer_kinds(self.config, usual, (SLIDING, FULL))
