"""JSON between control tokens: DeepSeek V3.1."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "deepseek",
    (
        Layout(
            NamedBody("<｜tool▁sep｜>"),
            call=("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
            section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        ),
    ),
    signs=(("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>{"),),
)
