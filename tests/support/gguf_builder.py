"""Small GGUF files to order."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from gguf import GGUFValueType, GGUFWriter

Value = str | bool | int | float | Sequence[str] | Sequence[int] | Sequence[bool]


def write_gguf(
    path: Path,
    metadata: Mapping[str, Value] | None = None,
    *,
    architecture: str = "llama",
    tensors: Mapping[str, tuple[int, ...]] | None = None,
) -> Path:
    """Writes a file with these keys, and tensors of 32-bit zeros, given by shape (row length last).

    Without `tensors` it has one; with an empty mapping none. Numbers become 32 bits wide.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, architecture)
    for key, value in (metadata or {}).items():
        _add(writer, key, value)
    if tensors is None:
        tensors = {"token_embd.weight": (32, 16)}
    for name, shape in tensors.items():
        writer.add_tensor(name, np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: GGUFWriter, key: str, value: Value) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, int):
        writer.add_key_value(
            key, value, GGUFValueType.UINT32 if value >= 0 else GGUFValueType.INT32
        )
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_array(key, list(value))
