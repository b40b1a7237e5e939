"""SmolLM3."""

from collections.abc import Iterator
from typing import ClassVar

from hubserve_exporters.architectures.base import Architecture, Defaults
from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.layers import FULL, SLIDING, layer_kinds, unwindowed
from hubserve_exporters.architectures.llama import Llama


class SmolLM3(Llama):
    """Llama, but every fourth layer does without rotary embedding."""

    gguf = "smollm3"
    ropes = Architecture.ropes
    frequency_factors = False
    biases = False
    defaults: ClassVar[Defaults] = {
        "rope_theta": 2e6,
        "num_key_value_heads": 4,
        "tie_word_embeddings": True,
    }

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        step = self.config.positive("no_rope_layer_interval", 4)
        given = self.config.integers(
            "no_rope_layers", [int((layer + 1) % step != 0) for layer in range(self.layers)]
        )
        if list(given[: self.layers]) != [int(layer % 4 != 3) for layer in range(self.layers)]:
            yield Refuse(
                "config.json: 'no_rope_layers' is not every fourth layer; llama.cpp leaves rotary"
                " embedding out there, whatever the file says."
            )
        if "model.layers.0.mlp.gate_proj.bias" in self.shapes:
            yield Refuse(
                "config.json: 'mlp_bias' is true; llama.cpp has no biases there for smollm3, and"
                " would not load the file."
            )
        if self.config.flag("use_sliding_window", False):
            usual = [FULL if rotated else SLIDING for rotated in given[: self.layers]]
            yield from unwindowed(self.config, layer_kinds(self.config, usual, (SLIDING, FULL)))
