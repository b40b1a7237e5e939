"""Tools and calls as words, for templates that have no place for them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hubserve_engine.prompt.history import History, joined, system_first
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.types import Message


def tools_told(messages: History, tools: Sequence[dict[str, Any]], format: ToolFormat) -> History:
    """A system message says what can be called, and how."""
    functions = [json.dumps(tool.get("function"), ensure_ascii=False) for tool in tools]
    example = format.layouts[0].written([("call_1", "function_name", {"argument": "value"})])
    text = (
        "You can call these functions:\n\n"
        + "\n".join(functions)
        + "\n\nTo call one, write its name and arguments like this, and nothing else:\n\n"
        + example
        + "\n\nSeveral calls may follow one another. You are given the results then. Where no"
        " function is needed, answer in words."
    )
    return system_first((*messages, Message("system", text)))


def calls_as_text(messages: History, format: ToolFormat) -> History:
    """Calls in the text, as the model would write them."""
    return tuple(_as_text(each, format) if each.tool_calls else each for each in messages)


def _as_text(message: Message, format: ToolFormat) -> Message:
    calls = [(call.id, call.name, parse_arguments(call.arguments)) for call in message.tool_calls]
    written = format.layouts[0].written(calls)
    return replace(message, content=joined([message.content, written]), tool_calls=())


def parse_arguments(text: str) -> dict[str, Any]:
    """A call's arguments as an object, also where the model or the client wrote something else.

    JSON within JSON is unpacked, null is no arguments. What is no object at all is kept, as the
    text of the one argument `_raw`: so the model sees what it wrote.
    """
    value: Any = text.strip() or "{}"
    for _ in range(2):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            return value
        if value is None:
            return {}
        if not isinstance(value, str):
            break
    return {"_raw": text}
