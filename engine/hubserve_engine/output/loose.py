"""What models write instead of their own format: JSON in a fence, in other tags, or bare; and their
own format in a fence.

A call in one of these counts only where it stands at the start of a line, names an offered tool and
has arguments that fit.
"""

from dataclasses import replace

from hubserve_engine.tool_formats.layout import JsonBody, Layout, NamedBody, PythonArguments


def in_fence(layout: Layout) -> Layout:
    begin, end = layout.section
    return replace(layout, section=(f"```{{id}}\n{begin}", f"{end}\n```"))


LOOSE: tuple[Layout, ...] = (
    Layout(JsonBody(), section=("```{id}", "```"), array=True),
    *(
        Layout(JsonBody(), section=(f"<{tag}>", f"</{tag}>"), array=True)
        for tag in ("tool_call", "tool_calls", "tools", "tool", "function_call", "functioncall")
    ),
    Layout(JsonBody(), section=('{\n"tool_calls":', "}"), array=True),
    Layout(JsonBody(), section=('```{id}\n{\n"tool_calls":', "}\n```"), array=True),
    Layout(JsonBody(), array=True),
    # Templates that were meant for a program that doubles braces show them so.
    Layout(JsonBody(), call=("<tool_call>\n{", "}\n</tool_call>")),
    Layout(JsonBody(), call=("{", "}")),
    Layout(JsonBody(name=""), array=True),
    Layout(NamedBody("(", PythonArguments(), ")"), array=True, separator=", "),
    # What Gemma writes to whoever shows it functions.
    *(
        Layout(NamedBody("(", PythonArguments(), ")"), section=(f"```tool_code\n{begin}", end))
        for begin, end in (("", "\n```"), ("print(", ")\n```"))
    ),
    # Some that were trained on tags for every argument write JSON between the outer ones.
    Layout(NamedBody(">\n"), call=("<tool_call>\n<function=", "\n</function>\n</tool_call>")),
)
