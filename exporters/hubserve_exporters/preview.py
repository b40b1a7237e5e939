"""What an export would write, without writing it."""

import os
from dataclasses import dataclass

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.parts import parts_of
from hubserve_exporters.pickles import opened
from hubserve_exporters.plan import plan_export
from hubserve_exporters.quantize import scheme_of, unquantized


@dataclass(frozen=True, slots=True)
class Preview:
    """`size` is in bytes, of all `parts` files; `types` has, for each type, how many tensors and
    how many bytes are of it. `scheme` is what llama.cpp would make of all that, if it is asked to.
    """

    size: int
    parts: int
    types: dict[str, tuple[int, int]]
    warnings: tuple[str, ...]
    scheme: str | None


def preview_export(
    checkpoint: str | os.PathLike[str] | Checkpoint, config: GGUFExportConfig
) -> Preview:
    """Of the same export. Raises ExportError for all that is refused before anything is written."""
    scheme = scheme_of(config.dtype, config.importance)
    config = unquantized(config)
    with opened(checkpoint, allow_pickle=config.allow_pickle) as source:
        plan = plan_export(source, config)
        parts = parts_of(plan, config)
        types = {} if config.vocab_only else plan.types()
        size = sum(part.size for part in parts)
    return Preview(size, len(parts), types, plan.warnings, None if config.vocab_only else scheme)
