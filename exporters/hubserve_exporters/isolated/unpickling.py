"""The task `unpickling`: pickled weights to safetensors, without running what is in them."""

import re
import zipfile
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

from hubserve_exporters.errors import TEMPORARY, ExportError

_SAFE = (2, 10)
"""CVE-2025-32434 and CVE-2026-24747 are holes in `weights_only` of earlier versions."""


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Writes `target` with the tensors of all `files`. Raises ExportError."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        version = "0"
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < _SAFE:
        raise ExportError(
            "Pickled weights are read by torch from 2.10 on, and"
            f" {'there is no torch' if version == '0' else f'torch {version} is here'}: install"
            " 'hubserve[transformers]', or use a revision with safetensors."
        )
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    for index, file in enumerate(arguments["files"]):
        try:
            # The older form of torch's files is no archive, and cannot be mapped.
            mapped = zipfile.is_zipfile(file)
            found = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
        except Exception as error:
            # What a damaged pickle makes of torch's own machine for them is any exception.
            said = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            raise ExportError(
                f"{file} holds more than tensors, or is damaged, and is not read: {said}. Download"
                " it again, or choose a revision with safetensors."
            ) from error
        if not isinstance(found, dict):
            raise ExportError(f"{file} is no table of tensors.")
        for name, tensor in found.items():
            if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
                raise ExportError(f"{file} holds more than named tensors, such as {name!r}.")
            if name in tensors:
                raise ExportError(f"The tensor {name!r} is in two files, {file} is one.")
            # Tensors that share memory are two in safetensors.
            tensors[name] = tensor.contiguous().clone()
        report((index + 1) / len(arguments["files"]))
    try:
        save_file(tensors, arguments["target"])
    except (OSError, SafetensorError) as error:
        raise ExportError(
            f"{arguments['target']} cannot be written: {str(error).rstrip('.')}; {TEMPORARY}."
        ) from error
    return {}
