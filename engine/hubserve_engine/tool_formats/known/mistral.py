"""Name and arguments behind control tokens: Ministral, Devstral, Magistral."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

WITH_IDS = Layout(NamedBody("[CALL_ID]{id}[ARGS]"), call=("[TOOL_CALLS]", ""))
WITHOUT_IDS = Layout(NamedBody("[ARGS]"), call=("[TOOL_CALLS]", ""))

BARE = Layout(NamedBody(""), call=("[TOOL_CALLS]", ""))
"""Some leave out the token before the arguments."""

FORMAT = ToolFormat("mistral", (WITHOUT_IDS, WITH_IDS, BARE), signs=(("[TOOL_CALLS]", "[ARGS]{"),))
