"""A list of actions: Command R7B and A."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "cohere",
    (
        Layout(
            JsonBody("tool_name", "parameters", leading='"tool_call_id": "{index}", '),
            section=("<|START_ACTION|>", "<|END_ACTION|>"),
            array=True,
            separator=",\n    ",
        ),
    ),
    signs=(("<|START_ACTION|>[", '"tool_name": '),),
)
