"""GGUF files: reading them strictly, writing them. Imports neither engine nor server.

What is public is here. It is imported when it is asked for, as the server reads headers alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hubserve_exporters.card import generate_model_card
    from hubserve_exporters.errors import ExportError
    from hubserve_exporters.export import Exported, export_gguf
    from hubserve_exporters.export_config import GGUFExportConfig
    from hubserve_exporters.gguf_reader import GGUFReader
    from hubserve_exporters.hub import Pushed, push_to_hub
    from hubserve_exporters.preview import Preview, preview_export
    from hubserve_exporters.restore import Restored, restore_checkpoint
    from hubserve_exporters.state_dict import load_gguf_state_dict

_PUBLIC = {
    "ExportError": "errors",
    "Exported": "export",
    "GGUFExportConfig": "export_config",
    "GGUFReader": "gguf_reader",
    "Preview": "preview",
    "Pushed": "hub",
    "Restored": "restore",
    "export_gguf": "export",
    "generate_model_card": "card",
    "load_gguf_state_dict": "state_dict",
    "preview_export": "preview",
    "push_to_hub": "hub",
    "restore_checkpoint": "restore",
}

__all__ = [
    "ExportError",
    "Exported",
    "GGUFExportConfig",
    "GGUFReader",
    "Preview",
    "Pushed",
    "Restored",
    "export_gguf",
    "generate_model_card",
    "load_gguf_state_dict",
    "preview_export",
    "push_to_hub",
    "restore_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
