"""The tools that a request offers: which calls count, and what their arguments have to be."""

import re
from collections.abc import Sequence
from typing import Any

from hubserve_engine.output.fit import Fit
from hubserve_engine.output.shape import Shape
from hubserve_engine.types import ToolUse

_AFTER_NAME = re.compile(r"[\w-]")
# What a name may stand behind: gpt-oss and Kimi write their tools as members of this.
_NAMESPACE = "functions."


class Tool:
    """One function. `parameters` is the client's own schema, or None; with `strict` nothing that
    does not fit all of it is a call, however well it might be meant."""

    def __init__(self, name: str, parameters: Any, *, strict: bool = False) -> None:
        self.name = name
        self._strict = strict
        self.shape = Shape.arguments(parameters if isinstance(parameters, dict) else {})
        self._fit = Fit(parameters)

    def takes(self, arguments: Any) -> bool:
        """Whether what may be a call has arguments for this tool."""
        return self.misfit(arguments) is None if self._strict else self._fit.guessed(arguments)

    def misfit(self, arguments: Any) -> str | None:
        """What of its schema the arguments of a call do not fit, and where."""
        return self._fit.misfit(arguments)


class Offer:
    """The functions that may be called, by name."""

    def __init__(self, tools: Sequence[dict[str, Any]], use: ToolUse) -> None:
        self.parallel = use.parallel
        self.longest = 0
        self._tools: dict[str, Tool] = {}
        if use.choice == "none":
            return
        for tool in tools:
            function = tool.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(name, str) and (use.allowed is None or name in use.allowed):
                assert isinstance(function, dict)
                self._tools[name] = Tool(name, function.get("parameters"), strict=use.strict)
                self.longest = max(self.longest, len(name))

    def __bool__(self) -> bool:
        return bool(self._tools)

    def find(self, name: str) -> Tool | None:
        name = name.strip()
        return self._tools.get(name) or self._tools.get(name.removeprefix(_NAMESPACE))

    def begins(self, text: str) -> tuple[Tool, str] | str | None:
        """The tool whose name the text begins with, and the rest of the text.

        "" where more text is needed to tell, None where no name can come of it.
        """
        if _NAMESPACE.startswith(text):
            return ""
        for given in dict.fromkeys((text, text.removeprefix(_NAMESPACE))):
            if any(name.startswith(given) for name in self._tools):
                return ""
            fitting = [name for name in self._tools if given.startswith(name)]
            name = max(fitting, key=len, default="")
            if name and not _AFTER_NAME.match(given, len(name)):
                return self._tools[name], given[len(name) :]
        return None
