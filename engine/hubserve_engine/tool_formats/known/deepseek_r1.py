"""JSON in a fence between control tokens: DeepSeek V3 and R1, and what was distilled from it."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "deepseek-r1",
    (
        Layout(
            NamedBody("\n```json\n", end="\n```"),
            call=("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
            section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
            separator="\n",
        ),
    ),
    signs=(("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "```json"),),
)
