"""JSON in `<tool_call>` tags: Hermes, Qwen 2.5 and 3, QwQ, Granite 4, MiMo, Bielik, Reka."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "hermes",
    (
        Layout(
            JsonBody(),
            call=("<tool_call>\n", "\n</tool_call>"),
            separator="\n",
        ),
    ),
    signs=(('<tool_call>\n{"name": ',),),
    hints=(("<tool_call>", "</tool_call>", '"arguments"'),),
)
