"""The tensors of a checkpoint, out of the file that was made from it."""

import os
from collections.abc import Iterator

from hubserve_exporters.architectures import find
from hubserve_exporters.encoding import rounded, stored_dtype
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf_reader import GGUFReader
from hubserve_exporters.ledger import corrected
from hubserve_exporters.mapping import Group, map_tensors
from hubserve_exporters.operations import undo
from hubserve_exporters.safetensors_file import numpy_dtype
from hubserve_exporters.source import Source, read_source
from hubserve_exporters.tensor import Array, tensor_of


def load_gguf_state_dict(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Every tensor of the checkpoint that is in the file, by its name there.

    Each is bit for bit the source cast to the type that the file keeps it in; of a quantized one,
    exactly the 32-bit numbers that it stands for. What the checkpoint has as MXFP4 comes back as
    its bytes. A tied output matrix is not there, as in the checkpoint. Raises ExportError for a
    file that `export_gguf` did not write, and GGUFError and
    OSError for one that cannot be read.
    """
    with GGUFReader(path) as reader:
        return dict(restored(reader, read_source(reader.metadata)))


def restored(reader: GGUFReader, source: Source) -> Iterator[tuple[str, Array]]:
    """The tensors, one after another; see `load_gguf_state_dict`."""
    for group in groups_of(source):
        if missing := sorted(set(group.targets) - reader.tensors.keys()):
            raise ExportError(
                f"The file lacks {missing[0]!r}, of which {group.sources[0]!r} was made; export the"
                " checkpoint again."
            )
        try:
            for name, values in _undone(group, reader, source):
                if values.shape != (shape := source.tensors[name].shape):
                    raise ValueError(f"the shape {values.shape}, where it was {shape}")
                yield name, values
        except (ValueError, IndexError) as error:
            raise ExportError(
                f"What the file has of {group.sources[0]!r} is not what was written: {error}."
            ) from error


def groups_of(source: Source) -> tuple[Group, ...]:
    """What became what, worked out as it was for the export."""
    shapes = {name: tensor.shape for name, tensor in source.tensors.items()}
    family = find(source.architecture)
    mapped = map_tensors(family, source.config, shapes, keep_mtp=source.keep_mtp)
    # An embedding may be the output matrix of the file as well.
    first: dict[tuple[str, ...], Group] = {}
    for group in mapped.groups:
        first.setdefault(group.sources, group)
    return tuple(first.values())


def _undone(group: Group, reader: GGUFReader, source: Source) -> Iterator[tuple[str, Array]]:
    if group.packed:
        blocks = [tensor_of(reader.blocks(name)) for name in group.targets]
        for name, tensor in zip(group.sources, undo(group.operations, blocks), strict=True):
            yield name, tensor.array()
        return
    stored = [tensor_of(reader.tensor(name)) for name in group.targets]
    kept = stored_dtype(reader.tensors[group.targets[0]].type)
    exact = all(operation.exact for operation in group.operations)
    for name, tensor in zip(group.sources, undo(group.operations, stored), strict=True):
        values = tensor.array()
        if not exact:
            own = numpy_dtype(source.tensors[name].dtype)
            values = corrected(name, rounded(values, own), reader.metadata)
        yield name, rounded(values, kept)
