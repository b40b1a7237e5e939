"""A tag for each key and value, a line each: GLM 4.5 and 4.6, Ling 3, Laguna XS."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "glm",
    (
        Layout(
            NamedBody(
                "\n",
                TaggedArguments(("<arg_key>", "</arg_key>\n"), ("<arg_value>", "</arg_value>\n")),
            ),
            call=("<tool_call>", "</tool_call>"),
            separator="\n",
        ),
    ),
    signs=(("<tool_call>", "<arg_key>", "</arg_key>\n<arg_value>"),),
)
