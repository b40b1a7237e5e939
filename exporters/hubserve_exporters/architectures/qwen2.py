"""Qwen2 and Qwen2.5."""

from collections.abc import Iterator

from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.rules import Rule
from hubserve_exporters.architectures.windows import unwindowed


class Qwen2(Architecture):
    """The queries, keys and values have biases; the heads fill the hidden size exactly."""

    gguf = "qwen2"

    def rules(self) -> list[Rule]:
        return [*self.ends(), *self.attention(), *self.feed_forward()]

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        hidden = self.config.positive("hidden_size")
        if self.heads * self.head_size != hidden:
            yield Refuse(
                f"config.json: {self.heads} heads of {self.head_size} are not the hidden size"
                f" {hidden}, as llama.cpp needs it for qwen2."
            )
        if self.config.flag("use_sliding_window", False):
            yield from unwindowed(self.config)
