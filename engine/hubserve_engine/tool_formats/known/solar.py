"""Control tokens for id, name and arguments: Solar Open."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "solar",
    (
        Layout(
            NamedBody("<|tool_call:args|>"),
            call=("<|tool_call:begin|>{id}<|tool_call:name|>", "<|tool_call:end|>"),
            section=("<|tool_calls|>", "<|calls|>"),
        ),
    ),
    signs=(("<|tool_call:name|>", "<|tool_call:args|>"),),
)
