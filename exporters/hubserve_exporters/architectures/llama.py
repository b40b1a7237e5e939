"""Llama 1 to 3, Mistral, SmolLM 1 and 2, and what else was built after them."""

from collections.abc import Iterator

from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.architectures.findings import Finding
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.architectures.windows import unwindowed
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Permute


class Llama(Architecture):
    gguf = "llama"

    def rules(self) -> list[Rule]:
        attention = self.attention(query=(Permute(self.heads),), key=(Permute(self.kv_heads),))
        return [*self.ends(), *attention, *self.feed_forward()]

    def metadata(self) -> dict[str, Value]:
        return super().metadata() | {"rope.dimension_count": self.head_size}


class Mistral(Llama):
    """llama.cpp's `llama` has no sliding window: longer than that it would see too much."""

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        yield from unwindowed(self.config)
