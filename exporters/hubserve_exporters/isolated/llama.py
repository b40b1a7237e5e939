"""llama.cpp's library, and what it says. Only ever imported in a process of its own."""

import ctypes
import os
from collections import deque
from collections.abc import Callable

import llama_cpp.llama_cpp as llama

from hubserve_exporters.errors import ExportError

_WARNING, _ERROR = 3, 4
_REASONS = (": error loading model: ", "failed to quantize: ")
_problems: deque[str] = deque(maxlen=20)
_listeners: list[Callable[[str], None]] = []


@llama.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    line = text.decode("utf-8", "replace")
    if level in (_WARNING, _ERROR):
        _problems.append(line.strip())
    for listener in _listeners:
        listener(line)


def initialize(listener: Callable[[str], None] | None = None) -> None:
    """Make the library ready and quiet; `listener` hears every line of its log."""
    # When it aborts it says why in a line. With a debugger at hand it would add pages.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    if listener is not None:
        _listeners.append(listener)
    llama.llama_log_set(_on_log, ctypes.c_void_p(0))
    llama.llama_backend_init()


def last_problem(otherwise: str) -> str:
    """What llama.cpp complained of last, without the name of the function that did.

    Lines that give a reason count for more than those behind them, which say that it failed.
    """
    lines = [line for line in reversed(_problems) if line]
    for line in lines:
        for mark in _REASONS:
            if mark in line:
                return line.rpartition(mark)[2]
    return lines[0] if lines else otherwise


def fail(what: str) -> ExportError:
    """The error that llama.cpp's last complaint is the reason of."""
    return ExportError(f"{what}: {last_problem('llama.cpp does not say why').rstrip('.!')}.")
