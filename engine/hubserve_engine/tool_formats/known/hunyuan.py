"""A tag for each key and value, all with a suffix: Hunyuan 3."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "hunyuan",
    (
        Layout(
            NamedBody(
                "<tool_sep:opensource>\n",
                TaggedArguments(
                    ("<arg_key:opensource>", "</arg_key:opensource>\n"),
                    ("<arg_value:opensource>", "</arg_value:opensource>\n"),
                ),
            ),
            call=("<tool_call:opensource>", "</tool_call:opensource>"),
            section=("<tool_calls:opensource>\n", "\n</tool_calls:opensource>"),
            separator="\n",
        ),
    ),
    signs=(("<tool_call:opensource>", "<tool_sep:opensource>"),),
)
