"""A bare object, or behind the tag that stands for Python: Llama 3.1 to 3.3."""

from hubserve_engine.tool_formats.layout import JsonBody, Layout, NamedBody, PythonArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

_TAG = ("<|python_tag|>", "")

FORMAT = ToolFormat(
    "llama",
    (
        Layout(JsonBody(arguments="parameters"), separator="; "),
        Layout(JsonBody(arguments="parameters"), section=_TAG, separator="; "),
        # What the template makes of the tools that the model knows by itself.
        Layout(NamedBody(".call(", PythonArguments(), ")"), section=_TAG),
    ),
    signs=(('{"name": "', '", "parameters": {"'),),
)
