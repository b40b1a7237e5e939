"""A list in `<TOOLCALL>`: Nemotron Nano 2."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "nemotron",
    (Layout(JsonBody(), section=("<TOOLCALL>", "</TOOLCALL>"), array=True, separator=", "),),
    signs=(("<TOOLCALL>[{",),),
)
