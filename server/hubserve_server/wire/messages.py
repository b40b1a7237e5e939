"""Messages as clients really send them, read into one plain form."""

from typing import Annotated, Any

from pydantic import BeforeValidator, FailFast, PlainValidator, model_validator

from hubserve_server.wire.fields import Text, Wire, template_value, text, unsupported, wrong
from hubserve_server.wire.parts import answer_apart, read_arguments, read_content

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def read_role(value: Any) -> str:
    if isinstance(value, str) and value in ROLES:
        return value
    raise wrong(f"must be one of {', '.join(ROLES)}", value)


def lenient_text(value: Any) -> str | None:
    """Text, or nothing: what else clients put into this field does not matter."""
    return value if isinstance(value, str) else None


def lenient_name(value: Any) -> str:
    return text(value) or ""


class FunctionCall(Wire):
    name: Annotated[str, PlainValidator(lenient_name)] = ""
    arguments: Annotated[str, PlainValidator(read_arguments)] = ""


class ToolCall(Wire):
    """A call in an earlier turn."""

    id: Text = None
    function: FunctionCall


def read_array(value: Any) -> tuple[Any, ...]:
    """Null is an empty array; what is in it is read by the field's own type."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong("must be an array", value)
    return tuple(value)


class Message(Wire):
    """One turn. Thinking comes under three names, or as parts, depending on the client."""

    role: Annotated[str, PlainValidator(read_role)]
    content: Annotated[str | None, PlainValidator(read_content)] = None
    reasoning_content: Annotated[str | None, PlainValidator(lenient_text)] = None
    reasoning: Annotated[str | None, PlainValidator(lenient_text)] = None
    reasoning_text: Annotated[str | None, PlainValidator(lenient_text)] = None
    tool_calls: Annotated[tuple[ToolCall, ...], FailFast(), BeforeValidator(read_array)] = ()
    function_call: FunctionCall | None = None
    tool_call_id: Text = None
    name: Text = None

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, value: Any) -> Any:
        return answer_apart(value)


def read_messages(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise wrong("must be an array of at least one message", value)
    return tuple(value)


def read_tools(value: Any) -> tuple[dict[str, Any], ...]:
    """Function tools, as the client described them."""
    tools = read_array(value)
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise wrong(f"must hold objects (tool {position})", tool)
        kind = tool.get("type", "function")
        if kind != "function":
            raise unsupported(
                f"tool {position} is of the type {str(kind)[:60]!r}; only 'function' is possible"
            )
        check_function(tool.get("function"), f"tool {position}")
        template_value(tool, f" (tool {position})")
    return tuple({"type": "function", **tool} for tool in tools)


def read_functions(value: Any) -> tuple[dict[str, Any], ...]:
    """The older form of `tools`, turned into the newer one."""
    functions = read_array(value)
    for position, function in enumerate(functions):
        check_function(function, f"function {position}")
        template_value(function, f" (function {position})")
    return tuple({"type": "function", "function": function} for function in functions)


def check_function(function: Any, where: str) -> None:
    if not isinstance(function, dict):
        raise wrong(f"must describe functions by objects ({where})", function)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise wrong(f"must give each function a name ({where})", name)
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise wrong(f"must give parameters as an object ({where})", parameters)
    description = function.get("description")
    if description is not None and not isinstance(description, str):
        raise wrong(f"must give the description as a string ({where})", description)
