"""The tools that a request offers: which calls count, and what their arguments have to be."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from hubserve_engine.output.shape import Shape
from hubserve_engine.types import ToolUse

_AFTER_NAME = re.compile(r"[\w-]")
# What a name may stand behind: gpt-oss and Kimi write their tools as members of this.
_NAMESPACE = "functions."
# Left out, since they may take any time on any text, or are too strict for what is only a guess.
_IGNORED = (
    "pattern",
    "patternProperties",
    "uniqueItems",
    "format",
    "unevaluatedProperties",
    "unevaluatedItems",
)
_MOST_LOOKS = 5000
"""Keywords that are looked at in one validation. Schemas within schemas can be any number."""
_Check = Callable[[Any, Any, Any, Any], Any]


class _TooLong(Exception):
    """A validation has taken all the looks that it may."""


class Tool:
    """One function. `parameters` is the client's own schema, or None."""

    def __init__(self, name: str, parameters: Any) -> None:
        self.name = name
        self.shape = Shape.arguments(parameters if isinstance(parameters, dict) else {})
        self._parameters = parameters
        self._looks = 0

    def takes(self, arguments: Any) -> bool:
        """Whether the arguments fit the schema, as far as it is sound and quick to look at."""
        if not isinstance(arguments, dict):
            return False
        return self._validator is None or self._fits(arguments)

    def _fits(self, arguments: dict[str, Any]) -> bool:
        self._looks = 0
        try:
            return bool(self._validator.is_valid(arguments))
        except Exception:  # a schema may be wrong in any way, endless, and refer to anything
            return True

    @cached_property
    def _validator(self) -> Any:
        if not isinstance(self._parameters, dict):
            return None
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        known = {
            keyword: self._counted(keyword, check)
            for keyword, check in Draft202012Validator.VALIDATORS.items()
            if keyword not in _IGNORED
        }
        lenient = validators.create(Draft202012Validator.META_SCHEMA, known)
        # An empty registry, since references to other documents would be fetched.
        return lenient(self._parameters, registry=Registry())

    def _counted(self, keyword: str, check: _Check) -> _Check:
        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._looks += 1
            if self._looks > _MOST_LOOKS:
                raise _TooLong
            if keyword == "additionalProperties" and "patternProperties" in schema:
                return ()  # which are additional is for the patterns to say
            return check(validator, value, instance, schema)

        return counted


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
