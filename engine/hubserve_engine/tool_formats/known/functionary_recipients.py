"""A recipient for each part of an answer, which may be a function: Functionary 3.2. Its prompt ends
with the mark that begins the first part."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "functionary-recipients",
    (Layout(NamedBody("\n"), call=(">>>", "")),),
    signs=((">>>wordcall\n{",),),
)
