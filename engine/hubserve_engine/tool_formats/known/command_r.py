"""A list of actions in a fence: Command R and R+."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "command-r",
    (
        Layout(
            JsonBody("tool_name", "parameters"),
            section=("Action: ```json\n", "\n```"),
            array=True,
            separator=",\n",
        ),
    ),
    signs=(("Action:", "```json", '"tool_name": '),),
    hints=(("Action:", "```json", '"tool_name"'),),
)
