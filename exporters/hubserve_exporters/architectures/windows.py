"""Sliding windows that llama.cpp does not compute for an architecture."""

from collections.abc import Iterator

from hubserve_exporters.architectures.findings import Finding, Warn, Write
from hubserve_exporters.config import Config


def unwindowed(config: Config) -> Iterator[Finding]:
    """Cuts the context to the window, within which all attention is the same."""
    window = config.integer("sliding_window", 0)
    if not 0 < window < config.positive("max_position_embeddings"):
        return
    yield Write("context_length", window)
    yield Warn(
        f"The model looks back {window} tokens at most, and llama.cpp has no sliding window for it:"
        f" the context is cut to {window} tokens, within which both are the same."
    )
