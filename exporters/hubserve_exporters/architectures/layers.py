"""Layers of several kinds, and sliding windows, also where llama.cpp has none."""

from collections.abc import Iterator, Sequence

from hubserve_exporters.architectures.findings import Finding, Refuse, Warn, Write
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value

SLIDING, FULL = "sliding_attention", "full_attention"


def unwindowed(config: Config, kinds: Sequence[str] = (SLIDING,)) -> Iterator[Finding]:
    """Cuts the context to the window, within which all attention is the same.

    `kinds` is what each layer is, where not all have a window.
    """
    window = config.integer("sliding_window", 0)
    if SLIDING not in kinds or not 0 < window < config.positive("max_position_embeddings"):
        return
    yield Write("context_length", window)
    yield Warn(
        f"The model looks back {window} tokens at most, and llama.cpp has no sliding window for it:"
        f" the context is cut to {window} tokens, within which both are the same."
    )


def layer_kinds(config: Config, usual: Sequence[str], known: Sequence[str]) -> list[str]:
    """What each layer is: by `layer_types`, else as is usual. Raises ExportError for others."""
    kinds = list(config.texts("layer_types", usual))
    if len(kinds) != len(usual) or set(kinds) - set(known):
        raise ExportError(
            f"config.json: 'layer_types' has {len(kinds)} entries, {', '.join(sorted(set(kinds)))};"
            f" {len(usual)} are needed, each {' or '.join(known)}."
        )
    return kinds


def layers_of(kinds: Sequence[str], kind: str) -> list[int]:
    """The layers of one kind, by their numbers."""
    return [layer for layer, one in enumerate(kinds) if one == kind]


def both_kinds(kinds: Sequence[str], gguf: str) -> Iterator[Finding]:
    """Refuses a model with layers of one kind, with which llama.cpp aborts where it has two."""
    if len(set(kinds)) == 1:
        yield Refuse(
            f"config.json: all layers are {kinds[0]!r}; llama.cpp aborts where {gguf} has no layers"
            " of the other kind."
        )


def window_kinds(config: Config, period: int, layers: int) -> list[str]:
    """Which layers have a window; one in `period` has none where nothing is said."""
    usual = [SLIDING if (layer + 1) % period else FULL for layer in range(layers)]
    return layer_kinds(config, usual, (SLIDING, FULL))


def window_metadata(config: Config, period: int, layers: int) -> dict[str, Value]:
    """The window, and whether each layer has it; see `window_kinds`.

    llama.cpp aborts where no layer has one: then all have one that is as long as the context.
    """
    sliding = [kind == SLIDING for kind in window_kinds(config, period, layers)]
    some = any(sliding)
    return {
        "attention.sliding_window": config.positive(
            "sliding_window" if some else "max_position_embeddings"
        ),
        "attention.sliding_window_pattern": sliding if some else [True] * layers,
    }
