"""As `deepseek_dsml`, under another name: DeepSeek V4."""

from hubserve_engine.tool_formats.known.deepseek_dsml import layout
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat("deepseek-v4", (layout("tool_calls"),), signs=(("<｜DSML｜tool_calls>",),))
