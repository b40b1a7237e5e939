"""Tags made of control tokens, with the type of each argument: Kimi K3."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

_TYPES = ("string", "number", "boolean", "null", "array", "object")

FORMAT = ToolFormat(
    "kimi-k3",
    (
        Layout(
            NamedBody(
                '" index="{number}"<|sep|>',
                TaggedArguments(
                    ('<|open|>argument key="', '"'),
                    ("<|sep|>", "<|close|>argument<|sep|>"),
                    tuple((name, f' type="{name}"') for name in _TYPES),
                ),
            ),
            call=('<|open|>call tool="', "<|close|>call<|sep|>"),
            section=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        ),
    ),
    signs=(('<|open|>call tool="', "<|open|>argument key="),),
)
