"""Bare keys, and a control token for a quotation mark: FunctionGemma."""

from hubserve_engine.tool_formats.layout import JsonArguments, Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "function-gemma",
    (
        Layout(
            NamedBody("", JsonArguments("<escape>")),
            call=("<start_function_call>call:", "<end_function_call>"),
        ),
    ),
    signs=(("<start_function_call>call:",),),
)
