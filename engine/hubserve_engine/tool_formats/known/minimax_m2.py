"""Tags for every argument: MiniMax M2."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "minimax-m2",
    (
        Layout(
            NamedBody('">\n', TaggedArguments(('<parameter name="', '"'), (">", "</parameter>\n"))),
            call=('<invoke name="', "</invoke>"),
            section=("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
            separator="\n",
        ),
    ),
    signs=(("<minimax:tool_call>", '<invoke name="'),),
)
