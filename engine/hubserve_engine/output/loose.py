"""What models write instead of their own format: JSON in a fence, in other tags, or bare.

A call in one of these counts only where it stands at the start of a line, names an offered tool and
has arguments that fit.
"""

from hubserve_engine.tool_formats.layout import JsonBody, Layout, NamedBody, PythonArguments

LOOSE: tuple[Layout, ...] = (
    Layout(JsonBody(), section=("```{id}", "```"), array=True),
    *(
        Layout(JsonBody(), section=(f"<{tag}>", f"</{tag}>"), array=True)
        for tag in ("tool_call", "tool_calls", "tools", "tool", "function_call", "functioncall")
    ),
    Layout(JsonBody(), array=True),
    Layout(NamedBody("(", PythonArguments(), ")"), array=True, separator=", "),
)
