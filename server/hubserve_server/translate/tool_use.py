"""Which tools a request offers, and how they may be called."""

from typing import Any

from hubserve_engine.errors import InvalidRequest
from hubserve_engine.types import ToolChoice, ToolUse
from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.fields import shown

WORDS: dict[str, ToolChoice] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}
"""The last is what Mistral's API calls it."""


def tools(wire: ChatRequest) -> tuple[dict[str, Any], ...]:
    """The tools that the prompt shows: none, where none may be called."""
    return () if tool_use(wire).choice == "none" else _offered(wire)


def tool_use(wire: ChatRequest) -> ToolUse:
    """Raises `InvalidRequest` for a choice that is none, or of a function that is not offered."""
    offered = _offered(wire)
    param = "tool_choice" if wire.tool_choice is not None else "function_call"
    choice, allowed = _choice(wire.tool_choice or wire.function_call, param)
    names = [tool["function"]["name"] for tool in offered]
    if choice == "required" and not names:
        message = f"{param!r} wants a call, but 'tools' offers nothing to call."
        raise InvalidRequest(message, param=param)
    for name in allowed or ():
        if name not in names:
            raise InvalidRequest(
                f"{param!r} names the function {name[:60]!r}, which is not among those in 'tools':"
                f" {', '.join(names) or 'there are none'}.",
                param=param,
            )
    return ToolUse(
        choice=choice,
        allowed=allowed,
        parallel=wire.parallel_tool_calls is not False and not wire.functions,
        strict=any(tool["function"].get("strict") is True for tool in offered),
    )


def _offered(wire: ChatRequest) -> tuple[dict[str, Any], ...]:
    return wire.tools or wire.functions


def _choice(value: Any, param: str) -> tuple[ToolChoice, tuple[str, ...] | None]:
    if value is None:
        return "auto", None
    if isinstance(value, str):
        if value not in WORDS:
            raise _wrong(param, value)
        return WORDS[value], None
    kind = value.get("type", "function")
    if kind == "function":
        return "required", (_name(value, param),)
    if kind == "allowed_tools":
        return _allowed(value, param)
    if isinstance(kind, str) and kind in WORDS:
        return WORDS[kind], None
    raise _wrong(param, kind)


def _allowed(value: dict[str, Any], param: str) -> tuple[ToolChoice, tuple[str, ...]]:
    given = value.get("allowed_tools", value)
    mode = given.get("mode", "auto") if isinstance(given, dict) else None
    listed = given.get("tools") if isinstance(given, dict) else None
    if mode not in ("auto", "required") or not isinstance(listed, list) or not listed:
        raise InvalidRequest(
            f"{param!r} of the type 'allowed_tools' needs 'tools', an array of functions, and the"
            " 'mode' 'auto' or 'required'.",
            param=param,
        )
    return WORDS[mode], tuple(_name(tool, param) for tool in listed)


def _name(value: Any, param: str) -> str:
    """The name in `{"function": {"name"}}`, or in the shorter forms of other APIs."""
    function = value.get("function", value) if isinstance(value, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        message = f"{param!r} must name a function: {{'function': {{'name': '...'}}}}."
        raise InvalidRequest(message, param=param)
    return name


def _wrong(param: str, value: Any) -> InvalidRequest:
    return InvalidRequest(
        f"{param!r} must be 'auto', 'none', 'required', or an object of the type 'function' or"
        f" 'allowed_tools', not {shown(value)}.",
        param=param,
    )
