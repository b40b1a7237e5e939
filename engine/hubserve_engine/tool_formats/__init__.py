"""How models write tool calls. Every module in `known` is one format; a new one is a new file."""

from importlib import import_module
from pkgutil import iter_modules

from hubserve_engine.tool_formats import known
from hubserve_engine.tool_formats.tool_format import ToolFormat

__all__ = ["FORMATS", "GENERIC", "ToolFormat", "recognise"]


def _listed() -> dict[str, ToolFormat]:
    names = sorted(module.name for module in iter_modules(known.__path__))
    formats = [import_module(f"{known.__name__}.{name}").FORMAT for name in names]
    return {format.name: format for format in formats}


FORMATS: dict[str, ToolFormat] = _listed()
"""By name, which is what a worker reports to the server."""

GENERIC = FORMATS["generic"]
"""For models whose template knows no tools, or does not show how one is called."""


def recognise(call: str, source: str) -> ToolFormat:
    """The format of a template, by the text that it makes of a call (empty where it makes none) and
    by its source."""
    best = max(FORMATS.values(), key=lambda format: format.fit(call, source))
    return best if best.fit(call, source) else GENERIC
