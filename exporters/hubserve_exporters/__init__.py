"""GGUF files: reading them strictly, writing them. Imports neither engine nor server.

What is public is here. It is imported when it is asked for, as the server reads headers alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubserve_exporters.errors import ExportError
    from hubserve_exporters.export import Exported, export_gguf
    from hubserve_exporters.export_config import GGUFExportConfig
    from hubserve_exporters.gguf_reader import GGUFReader
    from hubserve_exporters.restore import Restored, restore_checkpoint
    from hubserve_exporters.state_dict import load_gguf_state_dict

_PUBLIC = {
    "ExportError": "errors",
    "Exported": "export",
    "GGUFExportConfig": "export_config",
    "GGUFReader": "gguf_reader",
    "Restored": "restore",
    "export_gguf": "export",
    "load_gguf_state_dict": "state_dict",
    "restore_checkpoint": "restore",
}

__all__ = [
    "ExportError",
    "Exported",
    "GGUFExportConfig",
    "GGUFReader",
    "Restored",
    "export_gguf",
    "load_gguf_state_dict",
    "restore_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
