"""A list of objects whose only key is the name: Apertus."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "apertus",
    (
        Layout(
            JsonBody(name=""),
            section=("<|tools_prefix|>", "<|tools_suffix|>"),
            array=True,
            separator=", ",
        ),
    ),
    signs=(("<|tools_prefix|>[{",),),
)
