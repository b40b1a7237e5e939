"""As `mistral`, and each call has an id: Mistral Small 3.2."""

from hubserve_engine.tool_formats.known.mistral import BARE, WITH_IDS, WITHOUT_IDS
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "mistral-ids", (WITH_IDS, WITHOUT_IDS, BARE), signs=(("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]{"),)
)
