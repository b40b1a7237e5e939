"""The task `quantizing`: llama.cpp's `llama_model_quantize`."""

import ctypes
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as llama

from hubserve_exporters.errors import unwritable
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf_reader import GGUFReader
from hubserve_exporters.importance import Importance, check_importance, read_importance
from hubserve_exporters.isolated.llama import fail, initialize

_TENSOR = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_BUFFERS = 2**28
"""Bytes for rows that are being quantized; llama.cpp itself would take up to 8 GiB."""


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Writes `target` from `source` as `file_type`; both are the first of `parts`.

    Raises ExportError.
    """

    def listen(line: str) -> None:
        if found := _TENSOR.match(line):
            report((int(found[1]) - 1) / int(found[2]))

    initialize(listen)
    params = llama.llama_model_quantize_default_params()
    params.ftype = arguments["file_type"]
    params.nthread = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    params.max_buf_size = _BUFFERS
    params.keep_split = arguments["parts"] > 1
    importance = _importance(arguments)
    # What the structure points to has to live as long as the call.
    entries = _entries(importance)
    if importance:
        params.imatrix = ctypes.cast(entries, ctypes.POINTER(llama.llama_model_imatrix_data))
    kept = _kept(arguments["source"])
    params.tt_overrides = ctypes.cast(kept, ctypes.POINTER(llama.llama_model_tensor_override))
    # Of parts llama.cpp makes the names itself, from what is in front of the number.
    target = _PART.sub("", arguments["target"]) if params.keep_split else arguments["target"]
    paths = os.fsencode(arguments["source"]), os.fsencode(target)
    if llama.llama_model_quantize(*paths, ctypes.byref(params)):
        _look_for_room(Path(arguments["target"]), arguments["needed"])
        raise fail("llama.cpp cannot quantize the model")
    report(1.0)
    return {}


def _look_for_room(target: Path, needed: int | None) -> None:
    """Raises ExportError if nothing more can be written to the file. Of that llama.cpp says no more
    than "iostream error"."""
    try:
        with target.open("ab") as file:
            file.write(bytes(2**20))
    except OSError as error:
        raise unwritable(target, error, needed) from error


def _importance(arguments: Mapping[str, Any]) -> Importance:
    if arguments["importance"] is None:
        return {}
    importance = read_importance(Path(arguments["importance"]))
    with GGUFReader(arguments["source"]) as reader:
        check_importance(importance, reader.tensors.values())
    return importance


def _kept(source: str) -> Any:
    """Experts that come in four bits, as those of gpt-oss, stay as they are; an array that ends
    with an entry without a pattern."""
    with GGUFReader(source) as reader:
        kept = [info for info in reader.tensors.values() if info.type is TensorType.MXFP4]
    entries = (llama.llama_model_tensor_override * (len(kept) + 1))()
    for entry, info in zip(entries, kept, strict=False):
        entry.pattern = f"^{re.escape(info.name)}$".encode()
        entry.type = info.type.number
    return entries


def _entries(importance: Importance) -> Any:
    """An array that ends with an entry without a name."""
    entries = (llama.llama_model_imatrix_data * (len(importance) + 1))()
    for entry, (name, values) in zip(entries, importance.items(), strict=False):
        entry.name = name.encode()
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        entry.size = values.size
    return entries
