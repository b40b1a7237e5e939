"""llama.cpp's C API as llama-cpp-python declares it, without the rest of that package.

To import `llama_cpp.llama_cpp` by its name runs the package first, which imports a client of its
own with templates, caches and grammars: twice as much as the declarations, and none of it is used
here. So they are imported while an empty package stands for the whole one. Whoever imports
`llama_cpp` afterwards gets all of it, over the same declarations.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

PACKAGE = "llama_cpp"


def _declarations() -> Any:
    """The module, which is Any since it has no types. Raises ImportError."""
    name = f"{PACKAGE}.llama_cpp"
    spec = find_spec(PACKAGE)
    if PACKAGE in sys.modules or spec is None:
        return import_module(name)  # or its error
    sys.modules[PACKAGE] = module_from_spec(spec)  # it has a path, and is not run
    try:
        return import_module(name)
    finally:
        del sys.modules[PACKAGE]


llama = _declarations()
