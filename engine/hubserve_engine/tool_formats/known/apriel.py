"""A list in `<tool_calls>`: Apriel 1.5 and 1.6."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "apriel",
    (
        Layout(
            JsonBody(trailing=', "id": "{id}"'),
            section=("<tool_calls>", "</tool_calls>"),
            array=True,
            separator=", ",
        ),
    ),
    signs=(('<tool_calls>[{"name": ',),),
)
