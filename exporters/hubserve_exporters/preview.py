"""What an export would write, without writing it."""

import os
from dataclasses import dataclass
from pathlib import Path

from hubserve_exporters.architectures import find
from hubserve_exporters.checkpoint import Checkpoint, open_checkpoint
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.packed import refuse_quantized
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


def check_config(folder: Path, architecture: str | None = None) -> None:
    """Looks at config.json, as long as nothing else is there. Raises ExportError if it shows that
    the weights are quantized, or that they are of no known architecture; "" is any."""
    checkpoint = open_checkpoint(folder)
    refuse_quantized(checkpoint.raw_config)
    if architecture != "":
        find(architecture or checkpoint.architecture)


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
