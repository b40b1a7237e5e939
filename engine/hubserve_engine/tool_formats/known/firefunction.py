"""A list behind a word: FireFunction 2."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "firefunction",
    (Layout(JsonBody(), section=("functools[", "]"), separator=", "),),
    signs=(("functools[{",),),
)
