"""A message to each function, with tags for every argument: Muse."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "muse",
    (
        Layout(
            NamedBody(
                '">\n',
                TaggedArguments(('<atem:parameter name="', '"'), (">", "</atem:parameter>\n")),
            ),
            call=(
                ' to={name}<|message|><atem:function_calls>\n<atem:invoke name="',
                "</atem:invoke>\n</atem:function_calls>",
            ),
            separator="<|eom|><|start|>assistant",
        ),
    ),
    signs=(("<atem:function_calls>", '<atem:invoke name="'),),
)
