"""A role for calls: GigaChat 3."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "gigachat-role",
    (Layout(JsonBody(), call=("function call<|role_sep|>\n", "")),),
    signs=(('function call<|role_sep|>\n{"name": ',),),
)
