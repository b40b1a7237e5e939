"""JSON in a tag that holds the name: Functionary 3.1."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "functionary",
    (Layout(NamedBody(">"), call=("<function=", "</function>")),),
    signs=(("<function=", ">{", "</function>"),),
)
