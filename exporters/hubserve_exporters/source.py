"""What a file remembers of the checkpoint that it was made from, so that it can be undone.

llama.cpp ignores keys that it does not know. There are, below `hubserve.`:

    hubserve.format              the version of this list
    hubserve.architecture        the class of transformers
    hubserve.keep_mtp            whether layers that guess further tokens were kept
    hubserve.tensors             JSON: type and shape of every tensor, by its name there; deflated
    hubserve.dropped             the names of those that were left out on purpose
    hubserve.file.NAME           the small files beside the weights, and the templates that have a
                                 folder of their own, deflated
    hubserve.missing             the names of those that were too large for that
    hubserve.ledger.TENSOR...    see `ledger`
"""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.checkpoint import MAX_TEXT_BYTES, Checkpoint
from hubserve_exporters.config import Config, merged
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.safetensors_file import numpy_dtype
from hubserve_exporters.vocab.files import MORE_TEMPLATES

FORMAT = 1
PREFIX = "hubserve."
FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
)
"""Kept byte for byte, in this order, as long as they fit."""
_TEMPLATE = re.compile(rf"{MORE_TEMPLATES}/[A-Za-z0-9_][A-Za-z0-9_.-]*\.jinja")
"""Likewise, whatever they are called; the key has the name, so it is plain."""
MAX_KEPT_BYTES = 2**24
"""All files together, deflated: gemma's tokenizer, about the largest, takes 7 MB."""
_MAX_INFLATED = 2**27
_DAMAGE = (KeyError, ValueError, TypeError, AttributeError, RecursionError, zlib.error)


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """`dtype` in the words of safetensors; `shape` as numpy has it."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint, remembered. `tensors` are those that are in the file."""

    architecture: str
    keep_mtp: bool
    tensors: Mapping[str, SourceTensor]
    dropped: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def config(self) -> Config:
        """As `Checkpoint.config` was."""
        raw = json.loads(self.files["config.json"])
        return merged(raw)


def source_metadata(checkpoint: Checkpoint, source: Source) -> dict[str, Value]:
    """The keys, but for the ledger's. The files are read from the checkpoint."""
    listed = {name: (tensor.dtype, tensor.shape) for name, tensor in source.tensors.items()}
    keys: dict[str, Value] = {
        f"{PREFIX}format": FORMAT,
        f"{PREFIX}architecture": source.architecture,
        f"{PREFIX}keep_mtp": source.keep_mtp,
        f"{PREFIX}tensors": _deflate(json.dumps(listed).encode()),
    }
    more = sorted((checkpoint.folder / MORE_TEMPLATES).glob("*.jinja"))
    templates = [path.relative_to(checkpoint.folder).as_posix() for path in more]
    odd = [name for name in templates if not _TEMPLATE.fullmatch(name)]
    if dropped := (*source.dropped, *odd):
        keys[f"{PREFIX}dropped"] = dropped
    left = MAX_KEPT_BYTES
    missing = []
    for name in (*FILES, *templates):
        if name in odd or (path := checkpoint.file(name)) is None:
            continue
        packed = _deflate(path.read_bytes()) if path.stat().st_size <= MAX_TEXT_BYTES else None
        if packed is not None and packed.size <= left:
            left -= packed.size
            keys[f"{PREFIX}file.{name}"] = packed
        else:
            missing.append(name)
    if missing:
        keys[f"{PREFIX}missing"] = missing
    return keys


def read_source(metadata: Metadata) -> Source:
    """Raises ExportError for a file that was not written here."""
    version = metadata.uint(f"{PREFIX}format")
    if version is None:
        raise ExportError(
            "The file does not say which checkpoint it was made from; only what `hubserve export`"
            " wrote can be undone."
        )
    if version != FORMAT:
        raise ExportError(
            f"The file is of version {version}, made by another hubserve; {FORMAT} is read."
        )
    try:
        listed = json.loads(_inflate(metadata, f"{PREFIX}tensors"))
        tensors = {
            str(name): _source_tensor(dtype, shape) for name, (dtype, shape) in listed.items()
        }
        files = {
            name: _inflate(metadata, f"{PREFIX}file.{name}")
            for name in (*FILES, *_templates(metadata))
            if f"{PREFIX}file.{name}" in metadata
        }
        json.loads(files["config.json"]).items()
    except _DAMAGE as error:
        raise ExportError(
            f"What the file remembers of its checkpoint is damaged: {error}."
        ) from error
    return Source(
        metadata.string(f"{PREFIX}architecture") or "",
        bool(metadata.flag(f"{PREFIX}keep_mtp")),
        tensors,
        tuple(metadata.strings(f"{PREFIX}dropped") or ()),
        files,
        tuple(metadata.strings(f"{PREFIX}missing") or ()),
    )


def _source_tensor(dtype: object, shape: object) -> SourceTensor:
    numpy_dtype(str(dtype))
    sizes = shape if isinstance(shape, list) else [shape]
    if not all(type(size) is int and 0 < size < 2**31 for size in sizes):
        raise ValueError(f"{str(shape)[:40]!r} is no shape")
    return SourceTensor(str(dtype), tuple(map(int, sizes)))


def _templates(metadata: Metadata) -> list[str]:
    names = [key.removeprefix(f"{PREFIX}file.") for key in metadata]
    return [name for name in names if _TEMPLATE.fullmatch(name)]


def _deflate(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(data), np.uint8)


def _inflate(metadata: Metadata, key: str) -> bytes:
    packed = metadata[key]
    if not isinstance(packed, memoryview):
        raise ValueError(f"{key} is no array of bytes")
    inflater = zlib.decompressobj()
    data = inflater.decompress(packed.cast("B"), _MAX_INFLATED)
    if not inflater.eof:
        raise ValueError(f"{key} is longer than {_MAX_INFLATED >> 20} MiB, or cut off")
    return data
