"""The parts that a message's content may be made of, as text, thinking and calls."""

import json
from typing import Any

from hubserve_server.wire.fields import unsupported, wrong

TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
THINKING_PARTS = frozenset({"thinking", "reasoning", "redacted_thinking"})
CALL_PARTS = frozenset({"tool_use", "tool-call", "tool_call", "function_call"})
MEDIA = {"image": "Images", "audio": "Audio", "video": "Video", "file": "Files"}


def read_content(value: Any) -> str | None:
    """The text of a message: a string, or parts whose texts are put together, line after line."""
    if value is None or isinstance(value, str):
        return value
    parts = [value] if isinstance(value, dict) else value
    if not isinstance(parts, list):
        raise wrong("must be a string, null, or an array of parts", value)
    texts = [_text(part, position) for position, part in enumerate(parts)]
    return "\n".join(texts)


def answer_apart(message: Any) -> Any:
    """An assistant's message with the thinking and the calls among its parts in their own fields.

    Clients that keep an answer as parts send it back as parts. What the fields hold already counts.
    """
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return message
    content = message.get("content")
    parts = [content] if isinstance(content, dict) else content
    if not isinstance(parts, list):
        return message
    thinking = [_thinking(part) for part in parts if _kind(part) in THINKING_PARTS]
    calls = [_call(part) for part in parts if _kind(part) in CALL_PARTS]
    if not thinking and not calls:
        return message
    rest = [part for part in parts if _kind(part) not in THINKING_PARTS | CALL_PARTS]
    apart = {**message, "content": rest or None}
    if not message.get("reasoning_content"):
        apart["reasoning_content"] = "\n".join(filter(None, thinking))
    if not message.get("tool_calls"):
        apart["tool_calls"] = calls
    return apart


def _kind(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _thinking(part: dict[str, Any]) -> str:
    """Each API has its own name for it; where it is encrypted there is nothing to read."""
    found = _first(part, "thinking", "reasoning", "text")
    return found if isinstance(found, str) else ""


def _call(part: dict[str, Any]) -> dict[str, Any]:
    """A call as `tool_calls` has it."""
    function = {
        "name": _first(part, "name", "toolName"),
        "arguments": _first(part, "arguments", "input", "args"),
    }
    return {"id": _first(part, "call_id", "toolCallId", "id"), "function": function}


def _first(part: dict[str, Any], *names: str) -> Any:
    return next((part[name] for name in names if part.get(name) is not None), None)


def _text(part: Any, position: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise wrong(f"must hold parts with a type (part {position})", part)
    kind: str = part["type"]
    if kind not in TEXT_PARTS:
        medium = next((name for key, name in MEDIA.items() if key in kind), "Parts of this type")
        raise unsupported(
            f"part {position} is of the type {kind[:60]!r}. {medium} cannot be read by this server;"
            " send text parts only"
        )
    written = part.get("refusal" if kind == "refusal" else "text")
    if written is None:
        return ""
    if not isinstance(written, str):
        raise wrong(f"must hold text parts with a string in them (part {position})", written)
    return written


def read_arguments(value: Any) -> str:
    """Tool arguments as text. An object is written as JSON; a broken string stays as it is."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
