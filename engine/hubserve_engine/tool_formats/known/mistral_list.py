"""An array of objects behind a control token: Mistral 7B v0.3, Nemo, Small 2."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "mistral-list",
    (
        Layout(
            JsonBody(trailing=', "id": "{id}"'),
            section=("[TOOL_CALLS]", ""),
            array=True,
            separator=", ",
        ),
    ),
    signs=(('[TOOL_CALLS][{"name": ',), ("[TOOL_CALLS] [{",)),
)
