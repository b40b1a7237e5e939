"""Tags for every value, however deep, each behind a mark: MiniMax M3."""

from hubserve_engine.tool_formats.layout import Layout, NamedBody, NestedArguments
from hubserve_engine.tool_formats.tool_format import ToolFormat

_MARK = "]<]minimax[>["

FORMAT = ToolFormat(
    "minimax-m3",
    (
        Layout(
            NamedBody('">', NestedArguments(_MARK)),
            call=(f'{_MARK}<invoke name="', f"{_MARK}</invoke>\n"),
            section=(f"{_MARK}<tool_call>\n", f"{_MARK}</tool_call>"),
        ),
    ),
    signs=((f"{_MARK}<tool_call>", f'{_MARK}<invoke name="'),),
)
