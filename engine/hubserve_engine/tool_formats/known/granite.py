"""A list behind a control token: Granite 3. Its template shows tools but no calls."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "granite",
    (Layout(JsonBody(), section=("<|tool_call|>", ""), array=True, separator=", "),),
    signs=(("<|tool_call|>[{",),),
    hints=(("<|tool_call|> followed by a JSON list",),),
)
