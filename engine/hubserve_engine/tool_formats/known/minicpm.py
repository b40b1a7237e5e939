"""Tags with attributes: MiniCPM 5."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "minicpm",
    (
        Layout(
            NamedBody(
                '">',
                TaggedArguments(
                    ('<param name="', '"'), (">", "</param>"), verbatim=("<![CDATA[", "]]>")
                ),
            ),
            call=('<function name="', "</function>"),
            separator="\n",
        ),
    ),
    signs=(('<function name="', '<param name="'),),
)
