"""Messages as the objects that a template reads, in the shape that this template wants."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from hubserve_engine.prompt import history
from hubserve_engine.prompt.history import History
from hubserve_engine.prompt.tool_text import calls_as_text, parse_arguments
from hubserve_engine.tool_formats import GENERIC, ToolFormat
from hubserve_engine.types import Message, ToolCall

Plain = dict[str, Any]
CallContent = Literal["empty", "null", "absent"]

REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "thought")


@dataclass(frozen=True, slots=True)
class Traits:
    """What a template takes; the defaults are those of a template that takes all.

    `system`: where system messages may stand. `arguments`: whether a call's arguments are an object
    or its JSON text. `call_content`: what a message has as content that has only calls.
    `tools`, `calls`, `results`, `stray_results`: whether it shows tools, calls, tool messages, and
    tool messages that follow no call. `tool_format`: how it shows calls, or would.
    `parts`: content has to be a list of parts. `tools_null`: no tools are null, not an empty list.
    `reasoning_keys`: what messages hold their thinking under; with `thinking_parts` it is a part of
    their content.
    """

    system: Literal["anywhere", "first", "none"] = "anywhere"
    parts: bool = False
    tools_null: bool = True
    tools: bool = True
    tool_format: ToolFormat = GENERIC
    calls: bool = True
    results: bool = True
    stray_results: bool = True
    arguments: Literal["object", "text"] = "object"
    call_content: CallContent = "empty"
    text_beside_calls: bool = True
    many_calls: bool = True
    short_ids: bool = False
    reasoning_keys: tuple[str, ...] = REASONING_KEYS[:1]
    thinking_parts: bool = False


def normalize(messages: History, traits: Traits) -> History:
    """`messages` as far from their own shape as `traits` make it necessary."""
    messages = history.with_call_ids(messages, short=traits.short_ids)
    if not traits.calls:
        messages = calls_as_text(messages, traits.tool_format)
    if not traits.results:
        messages = history.results_as_text(messages)
    elif not traits.stray_results:
        messages = history.stray_results_as_text(messages)
    if not traits.text_beside_calls:
        messages = history.text_apart(messages)
    if not traits.many_calls:
        messages = history.calls_apart(messages)
    if traits.system == "first":
        messages = history.system_first(messages)
    elif traits.system == "none":
        messages = history.system_to_user(messages)
    return messages


def plain(messages: Iterable[Message], traits: Traits) -> list[Plain]:
    """The objects for the template, in order."""
    return [_plain(message, traits) for message in messages]


def _plain(message: Message, traits: Traits) -> Plain:
    content: Any = message.content or ""
    if traits.parts:
        content = [{"type": "text", "text": content}]
    made: Plain = {"role": message.role, "content": content}
    if message.tool_calls:
        made["tool_calls"] = [_call(call, traits) for call in message.tool_calls]
        if not message.content and traits.call_content == "null":
            made["content"] = None
        elif not message.content and traits.call_content == "absent":
            del made["content"]
    if message.reasoning and traits.thinking_parts:
        text = [{"type": "text", "text": message.content}] if message.content else []
        made["content"] = [{"type": "thinking", "thinking": message.reasoning}, *text]
    elif message.reasoning:
        made.update(dict.fromkeys(traits.reasoning_keys, message.reasoning))
    if message.role == "tool":
        made["tool_call_id"] = message.tool_call_id or ""
    if message.name:
        made["name"] = message.name
    return made


def _call(call: ToolCall, traits: Traits) -> Plain:
    arguments: Any = call.arguments.strip() or "{}"
    if traits.arguments == "object":
        arguments = parse_arguments(arguments)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def complete_tools(tools: Iterable[Plain]) -> list[Plain]:
    """Tools with the keys that templates take for granted."""
    made = []
    for tool in tools:
        given = tool.get("function")
        function: Plain = {"name": "", "description": ""} | (
            given if isinstance(given, dict) else {}
        )
        parameters: Plain = {"type": "object", "properties": {}, "required": []}
        given = function.get("parameters")
        parameters |= given if isinstance(given, dict) else {}
        given = parameters["properties"]
        parameters["properties"] = {
            name: {"type": "any", "description": ""} | (shape if isinstance(shape, dict) else {})
            for name, shape in (given.items() if isinstance(given, dict) else ())
        }
        function["parameters"] = parameters
        made.append({**tool, "type": "function", "function": function})
    return made
