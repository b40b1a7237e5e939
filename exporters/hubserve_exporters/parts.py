"""A model in several files, as llama.cpp reads it: NAME-00001-of-0000N.gguf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.gguf.tensors import align
from hubserve_exporters.gguf.writer import ALIGNMENT, Value, encode_header
from hubserve_exporters.plan import Plan, PlannedTensor


@dataclass(frozen=True, slots=True)
class Part:
    """One file: its plain name, and all that is in it."""

    name: str
    metadata: Mapping[str, Value]
    tensors: Sequence[PlannedTensor]

    def header(self) -> bytes:
        """All that stands before the tensors."""
        entries = [(tensor.name, tensor.type, tensor.shape) for tensor in self.tensors]
        return encode_header(self.metadata, entries)

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.header()) + sum(align(t.size, ALIGNMENT) for t in self.tensors)


def parts_of(plan: Plan, config: GGUFExportConfig) -> list[Part]:
    """The files of a plan; more than one if the tensors take more than `split_max_size` bytes.

    A tensor larger than the limit has a file of its own. The metadata is in the first file, but for
    the number of the part, which each has.
    """
    out_path, limit = config.out_path, config.split_max_size
    if config.vocab_only:
        return [Part(out_path.name, plan.metadata, ())]
    groups: list[list[PlannedTensor]] = [[]]
    size = 0
    for tensor in plan.tensors:
        needed = align(tensor.size, ALIGNMENT)
        if limit is not None and groups[-1] and size + needed > limit:
            groups.append([])
            size = 0
        groups[-1].append(tensor)
        size += needed
    if len(groups) == 1:
        return [Part(out_path.name, plan.metadata, plan.tensors)]
    parts = []
    for number, tensors in enumerate(groups):
        # The types are those that llama.cpp asks for, and no others.
        own: dict[str, Value] = {
            "split.no": np.uint16(number),
            "split.count": np.uint16(len(groups)),
            "split.tensors.count": np.int32(len(plan.tensors)),
        }
        shared = plan.metadata if number == 0 else {}
        name = f"{out_path.stem}-{number + 1:05}-of-{len(groups):05}.gguf"
        parts.append(Part(name, {**shared, **own}, tensors))
    return parts
