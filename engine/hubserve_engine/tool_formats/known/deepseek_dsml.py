"""Tags that say which arguments are strings: DeepSeek V3.2."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat


def layout(section: str) -> Layout:
    """One with this name of a row of calls."""
    return Layout(
        NamedBody(
            '">\n',
            TaggedArguments(
                ('<｜DSML｜parameter name="', '"'),
                (">", "</｜DSML｜parameter>\n"),
                (("string", ' string="true"'), ("", ' string="false"')),
            ),
        ),
        call=('<｜DSML｜invoke name="', "</｜DSML｜invoke>"),
        section=(f"<｜DSML｜{section}>\n", f"\n</｜DSML｜{section}>"),
        separator="\n",
    )


FORMAT = ToolFormat(
    "deepseek-dsml", (layout("function_calls"),), signs=(("<｜DSML｜function_calls>",),)
)
