"""Granite 3."""

from hubserve_exporters.architectures.llama import Llama
from hubserve_exporters.gguf.writer import Value

_SCALES = {
    "logits_scaling": "logit_scale",
    "residual_multiplier": "residual_scale",
    "embedding_multiplier": "embedding_scale",
    "attention_multiplier": "attention.scale",
}


class Granite(Llama):
    """Llama, with numbers that scale embeddings, attention, residuals and logits."""

    gguf = "granite"

    def metadata(self) -> dict[str, Value]:
        scales = {key: self.config.number(name, 1.0) for name, key in _SCALES.items()}
        return super().metadata() | scales
