"""Tags for every argument: Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, TaggedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat(
    "qwen-xml",
    (
        Layout(
            NamedBody(
                ">\n",
                TaggedArguments(("<parameter=", ">"), ("\n", "\n</parameter>\n")),
                "</function>",
            ),
            call=("<tool_call>\n<function=", "\n</tool_call>"),
            separator="\n",
        ),
        # The opening tag is often forgotten.
        Layout(
            NamedBody(
                ">\n",
                TaggedArguments(("<parameter=", ">"), ("\n", "\n</parameter>\n")),
                "</function>",
            ),
            call=("<function=", "\n</tool_call>"),
            separator="\n",
        ),
    ),
    signs=(("<tool_call>\n<function=", ">\n<parameter="),),
    hints=(("<tool_call>", "<function=", "<parameter="),),
)
