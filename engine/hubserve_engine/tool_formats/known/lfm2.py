"""Calls of Python in a list: LFM2 and LFM2.5. Some of their templates show tools but no calls."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout, NamedBody, PythonArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "lfm2",
    (
        Layout(
            NamedBody("(", PythonArguments(), ")"),
            section=("<|tool_call_start|>", "<|tool_call_end|>"),
            array=True,
            separator=", ",
        ),
        # What they write where a system message asks for JSON.
        Layout(
            JsonBody(),
            section=("<|tool_call_start|>", "<|tool_call_end|>"),
            array=True,
            separator=", ",
        ),
    ),
    signs=(("<|tool_call_start|>[",),),
    hints=(("<|tool_list_start|>",), ("List of tools: [",)),
)
