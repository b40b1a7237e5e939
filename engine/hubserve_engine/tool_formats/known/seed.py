"""Tags for every argument, in a tag of its own: Seed-OSS."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "seed",
    (
        Layout(
            NamedBody(
                ">\n",
                TaggedArguments(("<parameter=", ">"), ("", "</parameter>\n")),
                "</function>",
            ),
            call=("<seed:tool_call>\n<function=", "\n</seed:tool_call>"),
            separator="\n",
        ),
    ),
    signs=(("<seed:tool_call>", "<function="),),
)
