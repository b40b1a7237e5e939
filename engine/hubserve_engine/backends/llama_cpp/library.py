"""llama.cpp's library and its log.

The log callback is process-wide. It is replaced before anything is loaded, since the one that the
binding installs prints every line, and it is called from llama.cpp's threads, so it does little.
"""

import ctypes
import os
import re
from collections import deque
from pathlib import Path
from typing import Any

import numpy.typing as npt

from hubserve_engine.backends.llama_cpp.api import llama

_WARNING = 3
_ERROR = 4
_VERSION = re.compile(r'^__version__ = "(.+)"', re.MULTILINE)

_problems: deque[str] = deque(maxlen=40)


@llama.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _user_data: ctypes.c_void_p) -> None:
    if level in (_WARNING, _ERROR):
        _problems.append(text.decode("utf-8", "replace").strip())


def initialize() -> None:
    """Make the library ready and quiet; a second call does nothing new."""
    # When it aborts it says why in a line. With a debugger at hand it would add pages.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    llama.llama_log_set(_on_log, ctypes.c_void_p(0))
    llama.llama_backend_init()


def version() -> str:
    """The binding's version, and the commit of ggml where the library tells it."""
    package = Path(llama.__file__).with_name("__init__.py")
    found = _VERSION.search(package.read_text("utf-8"))
    if found is None:
        raise RuntimeError(f"{str(package)!r} says no version")
    try:
        commit = llama._lib.ggml_commit
    except AttributeError:
        return found[1]
    commit.restype = ctypes.c_char_p
    return f"{found[1]}+{commit().decode()}"


def problems() -> list[str]:
    """The warnings and errors that llama.cpp wrote since they were last taken."""
    found = list(_problems)
    _problems.clear()
    return found


def pointer(array: npt.NDArray[Any], of: Any) -> Any:
    """The array's memory as a C function takes it: a pointer to the C type `of`."""
    return array.ctypes.data_as(ctypes.POINTER(of))
