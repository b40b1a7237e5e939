"""The task `exporting`: a whole export, for those who do not want its memory or its crashes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hubserve_exporters.export import export_gguf
from hubserve_exporters.export_config import GGUFExportConfig
from hubserve_exporters.isolated.caller import Caller


def run(arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Writes `out_path` from the checkpoint in `folder`, once the caller has so many bytes of room.

    Raises ExportError.
    """
    config = GGUFExportConfig(
        Path(arguments["out_path"]), dtype=arguments["dtype"], name=arguments["name"]
    )
    last = 0

    def tell(written: int, total: int) -> None:
        nonlocal last
        # A line for each chunk would be thousands.
        if (percent := 100 * written // max(total, 1)) > last:
            last = percent
            caller(percent / 100)

    done = export_gguf(
        arguments["folder"], config, tell, lambda _, needed: caller.wait_for_leave(needed)
    )
    return {"warnings": done.warnings, "checked": done.checked}
