"""A checkpoint as it came from the Hub: what is in its folder, and nothing that is not.

Nothing in the folder is trusted. A file counts only if it is really inside it, or in the blobs of
the Hub's cache that the folder belongs to; no code that lies there is run.
"""

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hubserve_exporters.config import Config, merged
from hubserve_exporters.errors import ExportError
from hubserve_exporters.packed import refuse_packed, refuse_quantized
from hubserve_exporters.safetensors_file import StoredTensor, open_tensor, read_directory
from hubserve_exporters.tensor import Tensor

MAX_TEXT_BYTES = 2**26
"""The most that is read of a text file; the largest tokenizer.json is about 35 MB."""
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")


class Checkpoint:
    """A folder with `config.json`, weights as safetensors, and the files of a tokenizer.

    `raw_config` is config.json as it stands. `config` is what describes the language model: the
    same, or for a multimodal checkpoint its `text_config`, over what stands outside of that.
    """

    def __init__(self, folder: Path) -> None:
        """Use open_checkpoint."""
        self.folder = folder
        raw = self.json("config.json")
        if raw is None:
            raise ExportError(
                f"{folder} has no config.json; name the folder of a checkpoint that transformers"
                " can load."
            )
        self.raw_config: Mapping[str, Any] = MappingProxyType(raw)
        self.config = merged(raw)

    @cached_property
    def architecture(self) -> str:
        """The class of transformers that the checkpoint is made for, such as LlamaForCausalLM."""
        names = Config(self.raw_config).texts("architectures", ())
        if len(names) != 1:
            raise ExportError(
                f"config.json names {len(names)} architectures, one is needed; pass the name of the"
                " class that loads it as the architecture."
            )
        return names[0]

    @cached_property
    def tensors(self) -> Mapping[str, StoredTensor]:
        """Every tensor of the weights, by name. The first look reads the headers of all files.

        Raises ExportError for weights that are missing, damaged, quantized, or pickles.
        """
        refuse_quantized(self.raw_config)
        index = self.json(INDEX)
        if index is not None:
            found = self._sharded(index)
        elif weights := self.file(WEIGHTS):
            found = read_directory(weights)
        else:
            raise self._no_weights()
        refuse_packed(found)
        return MappingProxyType(found)

    def tensor(self, name: str) -> Tensor:
        """The numbers of a tensor, to be read. Raises KeyError if there is none of that name."""
        return open_tensor(self.tensors[name])

    def file(self, name: str) -> Path | None:
        """The path of a file of this name, if it is there.

        Raises ExportError if it leads out of the folder, or is no file.
        """
        path = self.folder / name
        try:
            real = path.resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, RuntimeError, ValueError) as error:
            raise ExportError(f"{str(path)!r} leads nowhere: {error}.") from error
        if not any(real.is_relative_to(place) for place in self._places):
            raise ExportError(
                f"{path} is a link to {real}, outside of the checkpoint; put the file itself there."
            )
        if not real.is_file():
            raise ExportError(f"{path} is no regular file.")
        return real

    def text(self, name: str) -> str | None:
        """What a text file says; None if it is not there. Raises ExportError if it is none."""
        path = self.file(name)
        if path is None:
            return None
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise ExportError(f"{name} is larger than {MAX_TEXT_BYTES >> 20} MiB.")
        try:
            return path.read_text("utf-8")
        except OSError as error:
            raise ExportError(f"{name} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ExportError(f"{name} is not UTF-8: {error.reason}.") from error

    def json(self, name: str) -> dict[str, Any] | None:
        """The object in a JSON file; None if it is not there. Raises ExportError if it is none."""
        text = self.text(name)
        if text is None:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ExportError(f"{name} is not JSON: {error}; fetch it again.") from error
        if not isinstance(found, dict):
            raise ExportError(f"{name} holds no object, but {str(found)[:40]!r}.")
        return found

    @cached_property
    def _places(self) -> tuple[Path, ...]:
        """Where files may really be: the Hub's cache keeps them in blobs, and links to them."""
        folder = self.folder.resolve()
        if folder.parent.name == "snapshots":
            return folder, folder.parent.parent / "blobs"
        return (folder,)

    def _sharded(self, index: Mapping[str, Any]) -> dict[str, StoredTensor]:
        names = index.get("weight_map")
        if not isinstance(names, dict) or not all(isinstance(v, str) for v in names.values()):
            raise ExportError(f"{INDEX} has no 'weight_map' from tensors to files; fetch it again.")
        found: dict[str, StoredTensor] = {}
        for shard in sorted(set(names.values())):
            if os.path.basename(shard) != shard or "\\" in shard or shard in ("", ".", ".."):
                raise ExportError(f"{INDEX} names the file {shard!r}, which is no plain file name.")
            path = self.file(shard)
            if path is None:
                raise ExportError(
                    f"{shard} is missing, which {INDEX} names; download the checkpoint again."
                )
            for name, tensor in read_directory(path).items():
                if name in found:
                    raise ExportError(f"The tensor {name!r} is in two files, {shard} is one.")
                if names.get(name) != shard:
                    raise ExportError(f"{shard} has the tensor {name!r}, which {INDEX} denies.")
                found[name] = tensor
        if missing := names.keys() - found.keys():
            raise ExportError(
                f"{names[min(missing)]} has no tensor {min(missing)!r}, though {INDEX} says so."
            )
        return found

    def _no_weights(self) -> ExportError:
        pickles = sorted(path.name for path in self.folder.iterdir() if path.suffix in _PICKLES)
        if pickles:
            return ExportError(
                f"{self.folder} has its weights in {pickles[0]}, a pickle, which can hold code; use"
                " a revision with safetensors, or convert it with save_pretrained in transformers."
            )
        return ExportError(
            f"{self.folder} has neither {WEIGHTS} nor {INDEX}; download the weights as well."
        )


def open_checkpoint(folder: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint in a folder; of its files only config.json is read for a start.

    Raises ExportError if there is none.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ExportError(f"{path} is no folder; name the folder of a checkpoint.")
    return Checkpoint(path)
