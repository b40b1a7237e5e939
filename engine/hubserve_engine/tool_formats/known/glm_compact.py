"""A tag for each key and value, in one line: GLM 4.7, Spark 2.5, Laguna S."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "glm-compact",
    (
        Layout(
            NamedBody(
                "", TaggedArguments(("<arg_key>", "</arg_key>"), ("<arg_value>", "</arg_value>"))
            ),
            call=("<tool_call>", "</tool_call>"),
        ),
    ),
    signs=(("<tool_call>", "<arg_key>", "</arg_key><arg_value>"),),
)
