"""An object behind a control token: GigaChat 3.1."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "gigachat",
    (Layout(JsonBody(), call=("<|function_call|>", "")),),
    signs=(('<|function_call|>{"name": ',),),
)
