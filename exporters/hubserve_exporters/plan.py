"""What a file will be, before a byte of it is written: every tensor, every key, every size."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hubserve_exporters.architectures import find
from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.architectures.findings import Refuse, Warn
from hubserve_exporters.architectures.omissions import omissions
from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import AS_IT_IS, ExportError
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.general import general_metadata
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import MAX_DIMENSIONS, MAX_NAME_BYTES, align
from hubserve_exporters.gguf.writer import ALIGNMENT, Value
from hubserve_exporters.importance import check_importance, read_importance
from hubserve_exporters.ledger import ledger_of
from hubserve_exporters.mapping import Group, Mapped, map_tensors
from hubserve_exporters.operations import apply
from hubserve_exporters.source import Source, SourceTensor, source_metadata
from hubserve_exporters.tensor import MXFP4, Tensor, tensor_of
from hubserve_exporters.types import Types, file_type, main_type
from hubserve_exporters.vocab.metadata import tokenizer_metadata


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor of the file; `numbers` are read when it is written. `sources` for messages."""

    name: str
    type: TensorType
    numbers: Tensor
    sources: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """As the file has it: the length of a row first."""
        *rows, length = self.numbers.shape
        if self.numbers.dtype == MXFP4:
            length *= self.type.block_elements
        return length, *reversed(rows)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes, without what pads it."""
        return self.type.size(self.shape)


@dataclass(frozen=True, slots=True)
class Plan:
    """`metadata` is complete but for what says in how many parts the file is.

    `warnings` are sentences for the user.
    """

    mapped: Mapped
    tensors: tuple[PlannedTensor, ...]
    metadata: Mapping[str, Value]
    warnings: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of all tensors, with their padding."""
        return sum(align(tensor.size, ALIGNMENT) for tensor in self.tensors)

    def types(self) -> dict[str, tuple[int, int]]:
        """How many tensors, and how many bytes, are of each type; the largest share first."""
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for tensor in self.tensors:
            counts[tensor.type.name] += 1
            sizes[tensor.type.name] += tensor.size
        return {name: (counts[name], size) for name, size in sizes.most_common()}


def plan_export(checkpoint: Checkpoint, config: GGUFExportConfig) -> Plan:
    """Looks at everything, and reads what is small. Raises ExportError for what cannot be."""
    name = config.architecture or checkpoint.architecture
    shapes = {name: stored.shape for name, stored in checkpoint.tensors.items()}
    family = find(name)
    mapped = map_tensors(family, checkpoint.config, shapes, keep_mtp=config.keep_mtp)
    mapped = _without_copy(mapped, checkpoint)
    keys, warnings = _look(mapped.architecture)
    warnings += omissions(mapped.dropped)

    kept = {name: checkpoint.tensors[name] for group in mapped.groups for name in group.sources}
    main = main_type(
        config.dtype,
        (
            (kept[name].dtype, prod(kept[name].shape))
            for group in mapped.groups
            for name in group.sources
            if not group.packed
        ),
    )
    types = Types(main, experts="expert_count" in keys)
    tensors: list[PlannedTensor] = []
    ledger: dict[str, Value] = {}
    for group in mapped.groups:
        try:
            tensors += _planned(group, checkpoint, types)
            if not all(operation.exact for operation in group.operations):
                ledger |= ledger_of(
                    group, {name: checkpoint.tensor(name) for name in group.sources}
                )
        except ExportError as error:
            raise ExportError(f"The tensor {group.sources[0]!r}: {error}.") from error
    for extra, values in mapped.architecture.extra_tensors().items():
        tensors.append(PlannedTensor(extra, TensorType.F32, tensor_of(values)))
    _hold_to_limits(tensors)
    if config.importance is not None:
        check_importance(read_importance(config.importance), tensors)
    warnings += _narrowed(tensors, main)

    metadata: dict[str, Value] = {
        "general.architecture": family.gguf,
        **general_metadata(
            checkpoint,
            name=config.name,
            parameters=sum(tensor.elements for tensor in tensors if tensor.sources),
        ),
        "general.file_type": file_type((tensor.type, tensor.elements) for tensor in tensors),
        "general.quantization_version": 2,
    }
    metadata |= {f"{family.gguf}.{key}": value for key, value in keys.items()}
    rows = next(t.numbers.shape[0] for t in tensors if t.name == "token_embd.weight")
    if config.tokenizer == "none":
        metadata |= _numbers_only(family.gguf, rows)
    else:
        tokenizer = tokenizer_metadata(checkpoint, rows, pre=config.pre, strict=config.strict)
        metadata |= tokenizer.keys
        metadata["general.name"] = tokenizer.model_name(str(metadata["general.name"]))
        warnings += tokenizer.warnings
    source = Source(
        name,
        config.keep_mtp,
        {name: SourceTensor(stored.dtype, stored.shape) for name, stored in kept.items()},
        mapped.dropped,
    )
    metadata |= source_metadata(checkpoint, source) | ledger
    return Plan(mapped, tuple(tensors), metadata, tuple(warnings))


def _numbers_only(architecture: str, rows: int) -> dict[str, Value]:
    """Tokens that have numbers only."""
    return {"tokenizer.ggml.model": "none", f"{architecture}.vocab_size": rows}


def _look(architecture: Architecture) -> tuple[dict[str, Value], list[str]]:
    """The keys of the architecture, and warnings. Raises ExportError with all that is refused."""
    keys = architecture.metadata()
    warnings: list[str] = []
    refusals: list[str] = []
    for finding in architecture.guards():
        if isinstance(finding, Refuse):
            refusals.append(finding.message)
        elif isinstance(finding, Warn):
            warnings.append(finding.message)
        else:
            keys[finding.key] = finding.value
    if refusals:
        raise ExportError(" ".join([*refusals, AS_IT_IS]))
    return keys, warnings


def _planned(group: Group, checkpoint: Checkpoint, types: Types) -> Iterator[PlannedTensor]:
    numbers = apply(group.operations, [checkpoint.tensor(name) for name in group.sources])
    if len(numbers) != len(group.targets):
        raise ExportError(f"{len(numbers)} tensors are to become {', '.join(group.targets)}")
    for name, tensor in zip(group.targets, numbers, strict=True):
        packed = tensor.dtype == MXFP4
        type_ = TensorType.MXFP4 if packed else types.of(name, tensor.shape, float32=group.float32)
        yield PlannedTensor(name, type_, tensor, group.sources)


def _without_copy(mapped: Mapped, checkpoint: Checkpoint) -> Mapped:
    """Without the output matrix, if it is the embedding once more, and config.json says so."""
    by_target = {group.targets[0]: group for group in mapped.groups}
    output, embedding = by_target.get("output.weight"), by_target["token_embd.weight"]
    if output is None or not mapped.architecture.tied:
        return mapped
    one, other = (checkpoint.tensor(group.sources[0]) for group in (output, embedding))
    if (one.shape, one.dtype) != (other.shape, other.dtype) or not all(
        np.array_equal(a.view(np.uint8), b.view(np.uint8))
        for a, b in zip(one.chunks(), other.chunks(), strict=True)
    ):
        raise ExportError(
            f"config.json says that {output.sources[0]!r} is the embedding ('tie_word_embeddings'),"
            " but the two differ; set it to false if the weights are right."
        )
    if mapped.architecture.needs_output:
        return mapped
    groups = tuple(group for group in mapped.groups if group is not output)
    return replace(mapped, groups=groups, dropped=(*mapped.dropped, *output.sources))


def _hold_to_limits(tensors: list[PlannedTensor]) -> None:
    names: set[str] = set()
    for tensor in tensors:
        if tensor.name in names:
            raise ExportError(f"Two tensors become {tensor.name!r}.")
        names.add(tensor.name)
        if len(tensor.name.encode()) > MAX_NAME_BYTES:
            raise ExportError(f"The name {tensor.name!r} is longer than {MAX_NAME_BYTES} bytes.")
        if len(tensor.shape) > MAX_DIMENSIONS:
            raise ExportError(
                f"The tensor {tensor.sources[0]!r} has the shape {tensor.numbers.shape}; a GGUF"
                f" file has {MAX_DIMENSIONS} dimensions at most."
            )


def _narrowed(tensors: list[PlannedTensor], main: TensorType) -> list[str]:
    """A warning where rows do not divide into the blocks of the type that was asked for."""
    if main.block_elements == 1:
        return []
    others = [t for t in tensors if t.type is TensorType.F16]
    if not others:
        return []
    return [
        f"{len(others)} tensors are kept in F16, as their rows do not divide into blocks of"
        f" {main.block_elements}, such as {others[0].name!r} with rows of {others[0].shape[0]}."
    ]
