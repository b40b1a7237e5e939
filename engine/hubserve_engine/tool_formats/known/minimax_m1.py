"""Objects in `<tool_calls>`, a line each: MiniMax M1."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "minimax-m1",
    (Layout(JsonBody(), section=("<tool_calls>\n", "\n</tool_calls>"), separator="\n"),),
    signs=(('<tool_calls>\n{"name": ',),),
)
