"""Bare keys, and a control token for a quotation mark: Gemma 4."""

from hubserve_engine.tool_formats.layout import JsonArguments, Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "gemma",
    (
        Layout(
            NamedBody("", JsonArguments('<|"|>')),
            call=("<|tool_call>call:", "<tool_call|>"),
        ),
    ),
    signs=(("<|tool_call>call:",),),
)
