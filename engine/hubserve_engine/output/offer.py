"""The tools that a request offers: which calls count, and what their arguments have to be."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from hubserve_engine.output.shape import Shape
from hubserve_engine.types import ToolUse

_AFTER_NAME = re.compile(r"[\w-]")
# What a name may stand behind: gpt-oss and Kimi write their tools as members of this.
_NAMESPACE = "functions."
# Left out, since they may take any time on any text, or are too strict for what is only a guess.
_IGNORED = ("pattern", "patternProperties", "uniqueItems", "format")


class Tool:
    """One function. `parameters` is the client's own schema, or None."""

    def __init__(self, name: str, parameters: Any) -> None:
        self.name = name
        self.shape = Shape.arguments(parameters if isinstance(parameters, dict) else {})
        self._parameters = parameters

    def takes(self, arguments: Any) -> bool:
        """Whether the arguments fit the schema, as far as it is sound and quick to look at."""
        if not isinstance(arguments, dict):
            return False
        return self._validator is None or self._fits(arguments)

    def _fits(self, arguments: dict[str, Any]) -> bool:
        try:
            return bool(self._validator.is_valid(arguments))
        except Exception:  # a schema may be wrong in any way, and refer to anything
            return True

    @cached_property
    def _validator(self) -> Any:
        if not isinstance(self._parameters, dict):
            return None
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        ignored = {name: None for name in _IGNORED}
        known = {k: v for k, v in Draft202012Validator.VALIDATORS.items() if k not in ignored}
        lenient = validators.create(Draft202012Validator.META_SCHEMA, known)
        # An empty registry, since references to other documents would be fetched.
        return lenient(self._parameters, registry=Registry())


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
                self._tools[name] = Tool(name, function.get("parameters"))
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
        text = text.removeprefix(_NAMESPACE)
        if any(name.startswith(text) for name in self._tools):
            return ""
        fitting = [name for name in self._tools if text.startswith(name)]
        name = max(fitting, key=len, default="")
        if not name or _AFTER_NAME.match(text, len(name)):
            return None
        return self._tools[name], text[len(name) :]
