"""Name and arguments behind control tokens: Ministral, Devstral, Magistral."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

WITH_IDS = Layout(NamedBody("[CALL_ID]{id}[ARGS]"), call=("[TOOL_CALLS]", ""))
WITHOUT_IDS = Layout(NamedBody("[ARGS]"), call=("[TOOL_CALLS]", ""))

FORMAT = ToolFormat("mistral", (WITHOUT_IDS, WITH_IDS), signs=(("[TOOL_CALLS]", "[ARGS]{"),))
