"""The task `quantizing`: llama.cpp's `llama_model_quantize`."""

import ctypes
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as llama

from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.importance import Importance, check_importance, read_importance
from hubserve_exporters.isolated.llama import fail, initialize

_TENSOR = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_BUFFERS = 2**28
"""Bytes for rows that are being quantized; llama.cpp itself would take up to 8 GiB."""


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Writes `target` from `source` as `file_type`. Raises ExportError."""

    def listen(line: str) -> None:
        if found := _TENSOR.match(line):
            report((int(found[1]) - 1) / int(found[2]))

    initialize(listen)
    params = llama.llama_model_quantize_default_params()
    params.ftype = arguments["file_type"]
    params.nthread = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    params.max_buf_size = _BUFFERS
    importance = _importance(arguments)
    # What the structure points to has to live as long as the call.
    entries = _entries(importance)
    if importance:
        params.imatrix = ctypes.cast(entries, ctypes.POINTER(llama.llama_model_imatrix_data))
    source, target = (os.fsencode(arguments[name]) for name in ("source", "target"))
    if llama.llama_model_quantize(source, target, ctypes.byref(params)):
        raise fail("llama.cpp cannot quantize the model")
    report(1.0)
    return {}


def _importance(arguments: Mapping[str, Any]) -> Importance:
    if arguments["importance"] is None:
        return {}
    importance = read_importance(Path(arguments["importance"]))
    with open_gguf(arguments["source"]) as file:
        check_importance(importance, file.tensors.values())
    return importance


def _entries(importance: Importance) -> Any:
    """An array that ends with an entry without a name."""
    entries = (llama.llama_model_imatrix_data * (len(importance) + 1))()
    for entry, (name, values) in zip(entries, importance.items(), strict=False):
        entry.name = name.encode()
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        entry.size = values.size
    return entries
