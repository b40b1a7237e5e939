"""A model in GGUF, whole: in one file or in parts, its tensors as numbers."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np

from hubserve_exporters.encoding import decode
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.reader import GGUFFile, open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import TensorInfo
from hubserve_exporters.tensor import MXFP4, Array

_PART = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")


class GGUFReader:
    """Reads a model, and trusts nothing that its files say. It is a context manager.

    `metadata` is a mapping of keys, those of the first part. `tensors` has, by name, what each
    tensor is: type, shape (the length of a row first), place and size in bytes. `size` is that of
    all files, in bytes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """`path` may be any part of a model in parts. Raises GGUFError for what is none, and
        OSError where it cannot be opened."""
        self._files = [open_gguf(part) for part in _parts(Path(path))]
        self._places: dict[str, GGUFFile] = {}
        tensors: dict[str, TensorInfo] = {}
        for file in self._files:
            for name, info in file.tensors.items():
                if name in tensors:
                    raise GGUFError(f"{os.fspath(path)}: the tensor {name!r} is in two parts")
                tensors[name] = info
                self._places[name] = file
        self.size = sum(file.file_size for file in self._files)
        self.metadata: Metadata = self._files[0].metadata
        self.tensors: Mapping[str, TensorInfo] = MappingProxyType(tensors)

    def tensor(self, name: str) -> Array:
        """The numbers of a tensor, with the length of a row last.

        F32, F16 and BF16 (of ml_dtypes) are mapped, not copied; what is quantized becomes exactly
        the 32-bit numbers that it stands for. Raises KeyError if there is none of this name.
        """
        info = self.tensors[name]
        try:
            return decode(self._places[name].tensor(name), info.type, info.shape[::-1])
        except ExportError as error:
            raise ExportError(f"The tensor {name!r}: {error}.") from error

    def blocks(self, name: str) -> Array:
        """The blocks of a tensor of MXFP4, as they are; see `tensor.MXFP4`.

        Raises KeyError if there is none of this name, and ExportError for one of another type.
        """
        info = self.tensors[name]
        if info.type is not TensorType.MXFP4:
            raise ExportError(f"The tensor {name!r} is {info.type.name}, and was MXFP4.")
        blocks = np.frombuffer(self._places[name].tensor(name), MXFP4)
        return blocks.reshape(*info.shape[:0:-1], -1)

    def close(self) -> None:
        """Lets go of the files; what was taken from them stays."""
        for file in self._files:
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parts(path: Path) -> list[Path]:
    """All files of a model. Raises GGUFError if there are others, and some are missing."""
    match = _PART.fullmatch(path.name)
    if match is None:
        return [path]
    count = int(match["count"])
    names = (f"{match['stem']}-{n:05}-of-{count:05}.gguf" for n in range(1, count + 1))
    parts = [path.with_name(name) for name in names]
    missing = next((part for part in parts if not part.exists()), None)
    if missing is not None and path.exists():
        raise GGUFError(
            f"{missing}: this part of the model is missing; put all {count} into one folder"
        )
    return parts
