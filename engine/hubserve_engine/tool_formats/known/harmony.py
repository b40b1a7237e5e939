"""A channel with a recipient: gpt-oss. The token that ends a call ends the answer."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody
from hubserve_engine.tool_formats.tool_format import ToolFormat

# The format of the content, which models write in more than one way.
_KINDS = (" <|constrain|>json", " {id}")
_CHANNELS = ("commentary", "analysis")

FORMAT = ToolFormat(
    "harmony",
    (
        *(
            Layout(
                NamedBody(f"{kind}<|message|>"),
                call=(f"<|channel|>{channel} to=functions.", "<|call|>"),
            )
            for channel in _CHANNELS
            for kind in _KINDS
        ),
        *(
            Layout(
                NamedBody(f"<|channel|>{channel}{kind}<|message|>"),
                call=(" to=functions.", "<|call|>"),
            )
            for channel in _CHANNELS
            for kind in _KINDS
        ),
    ),
    signs=((" to=functions.", "<|channel|>commentary", "<|message|>"),),
)
