"""For models whose template knows no tools: we tell them, and ask for the commonest format."""

from hubserve_engine.tool_formats.known import hermes
from hubserve_engine.tool_formats.tool_format import ToolFormat

FORMAT = ToolFormat("generic", hermes.FORMAT.layouts)
