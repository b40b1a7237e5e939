"""Ids that hold name and number: Kimi K2."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "kimi",
    (
        Layout(
            NamedBody(":{index}<|tool_call_argument_begin|>"),
            call=("<|tool_call_begin|>functions.", "<|tool_call_end|>"),
            section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        ),
    ),
    signs=(("<|tool_call_begin|>", "<|tool_call_argument_begin|>"),),
)
