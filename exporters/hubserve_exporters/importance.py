"""Importance matrices, as llama.cpp's llama-imatrix writes them: which inputs of a matrix matter.

For each matrix, the mean square of every input column over some text. There are two forms: a GGUF
file, and an older one that ends in .dat. Source: `tools/imatrix/imatrix.cpp` and
`tools/quantize/quantize.cpp` of llama.cpp as llama-cpp-python 0.3.36 has it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from struct import Struct, error
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import GGUFFile, open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import MAX_NAME_BYTES

Importance = dict[str, NDArray[np.float32]]
"""By the name of a tensor: a number for each input column, of one expert after another."""


class _Weights(Protocol):
    """A tensor of a file; `shape` has the length of a row first."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


_SUMS, _COUNTS = ".in_sum2", ".counts"
_INT = Struct("<i")


def read_importance(path: Path) -> Importance:
    """Reads either form. Raises ExportError, with the path, for whatever is neither."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        importance = _read_gguf(path) if start == b"GGUF" else _read_old(path.read_bytes())
        for name, values in importance.items():
            if not np.isfinite(values).all() or (values < 0).any():
                raise GGUFError(f"the entry {name!r} has values that no mean of squares can have")
    except GGUFError as fault:
        raise ExportError(
            f"{str(path)!r} is not an importance matrix that can be used: {fault}; make one with"
            " llama-imatrix."
        ) from fault
    except OSError as fault:
        raise ExportError(
            f"The importance matrix {str(path)!r} cannot be read: {fault.strerror}."
        ) from fault
    return importance


def check_importance(importance: Mapping[str, object], tensors: Iterable[_Weights]) -> None:
    """Raises ExportError unless it was made of a model with these tensors.

    llama.cpp passes over entries that fit nothing, and quantizes as if they were not there.
    """
    sizes = {t.name: t.shape[0] * (t.shape[2] if len(t.shape) > 2 else 1) for t in tensors}
    for name, values in importance.items():
        assert isinstance(values, np.ndarray)
        if name not in sizes:
            raise ExportError(
                f"The importance matrix has an entry for {name!r}, which this model has not: it"
                " was made of another one."
            )
        if values.size != sizes[name]:
            raise ExportError(
                f"The importance matrix has {values.size} values for {name!r}, which has"
                f" {sizes[name]} inputs: it was made of another model."
            )


def _read_gguf(path: Path) -> Importance:
    with open_gguf(path) as file:
        if (kind := file.metadata.string("general.type")) != "imatrix":
            raise GGUFError(f"its general.type is {kind!r}, not 'imatrix'")
        names = [n.removesuffix(_SUMS) for n in file.tensors if n.endswith(_SUMS)]
        if not names:
            raise GGUFError("it has no entries")
        return {name: _entry(file, name) for name in names}


def _entry(file: GGUFFile, name: str) -> NDArray[np.float32]:
    sums, counts = (_floats(file, name + suffix) for suffix in (_SUMS, _COUNTS))
    if sums.size % counts.size:
        raise GGUFError(f"the entry {name!r} has {sums.size} sums and {counts.size} counts")
    parts = sums.reshape(counts.size, -1)
    # An expert that was never asked has no weight of its own: all its inputs count the same.
    unseen = (counts <= 0)[:, None]
    with np.errstate(all="ignore"):
        means = np.where(unseen, np.float32(1), parts / np.where(unseen, 1, counts[:, None]))
    return np.ascontiguousarray(means.reshape(-1), np.float32)


def _floats(file: GGUFFile, name: str) -> NDArray[np.float32]:
    info = file.tensors.get(name)
    if info is None or info.type is not TensorType.F32:
        raise GGUFError(f"it has no tensor {name!r} of 32-bit numbers")
    return np.frombuffer(file.tensor(name), np.float32)


def _read_old(content: bytes) -> Importance:
    """An entry is a name, a number of calls, and the sum over them; then come two optional parts:
    how many chunks there were, and the name of the text."""
    reader = _Old(content)
    importance: Importance = {}
    entries = reader.integer("the number of entries", 1)
    for number in range(1, entries + 1):
        try:
            name = reader.take(reader.integer("a name's length", 1, MAX_NAME_BYTES)).decode()
        except UnicodeDecodeError:
            raise GGUFError(f"the name of entry {number} is not UTF-8") from None
        if name in importance:
            raise GGUFError(f"the entry {name!r} is there twice")
        calls = reader.integer(f"the number of calls of {name!r}", 0)
        size = reader.integer(f"the number of values of {name!r}", 1)
        sums = np.frombuffer(reader.take(4 * size), "<f4")
        importance[name] = (sums / np.float32(max(calls, 1))).astype(np.float32)
    if reader.left:
        reader.integer("the number of chunks", 0)
    if reader.left:
        reader.take(reader.integer("the length of the text's name", 0))
    if reader.left:
        raise GGUFError(f"{reader.left} bytes follow where nothing can")
    return importance


class _Old:
    """A position in a file of the older form."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    @property
    def left(self) -> int:
        """The bytes that follow."""
        return len(self._content) - self._position

    def integer(self, what: str, low: int, high: int = 2**31 - 1) -> int:
        """The next integer. Raises GGUFError where it is not from `low` to `high`."""
        try:
            value: int = _INT.unpack_from(self._content, self._position)[0]
        except error:
            raise GGUFError(f"it ends before {what}") from None
        if not low <= value <= high:
            raise GGUFError(f"{what} is {value}")
        self._position += _INT.size
        return value

    def take(self, size: int) -> bytes:
        """The next bytes. Raises GGUFError where there are fewer."""
        if size > self.left:
            raise GGUFError(f"it ends after {len(self._content)} bytes, and has to go on")
        self._position += size
        return self._content[self._position - size : self._position]
