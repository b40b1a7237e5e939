"""The task `rendering`: chat templates with a few chats, in little memory.

Whoever serves the file renders them within limits. Here those are found that would run into them.
"""

import resource
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from jinja2.runtime import Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.templates import EXTENSIONS

_MEMORY = 2**30
_LONGEST = 2**24
"""Characters of a prompt, of chats of a few words."""
_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks there.",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "string", "description": "A place."}},
            "required": ["at"],
        },
    },
}
_FIRST = ({"role": "user", "content": "Hello"},)
_LONGER = (
    {"role": "system", "content": "Be brief."},
    *_FIRST,
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Bye"},
)


class _Sandbox(ImmutableSandboxedEnvironment):
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Some templates fill lists of their own."""
        if isinstance(obj, list) and attr in ("append", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        if attribute.startswith("_"):
            raise ExportError(f"reaches for {attribute!r}, as attacks do")
        return super().unsafe_undefined(obj, attribute)


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Renders each of `templates`, by name; `unwritten` are those that wrote none of the chats.

    Raises ExportError for what no chat needs; one that does not take these chats may be right all
    the same.
    """
    with suppress(OSError, ValueError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    unwritten = []
    for name, text in arguments["templates"].items():
        try:
            if not _render(text):
                unwritten.append(name)
        except ExportError as error:
            fault = str(error)
        except (MemoryError, OverflowError):
            fault = "makes more of a short chat than there is room for"
        else:
            continue
        raise ExportError(
            f"The chat template {name!r} {fault}; take it from the original checkpoint, or write"
            " one that is plain."
        )
    return {"unwritten": unwritten}


def _render(text: str) -> bool:
    """Whether it writes any of the chats."""
    written = False
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=EXTENSIONS)
    environment.globals |= {"strftime_now": lambda format: "", "bos_token": "", "eos_token": ""}
    environment.filters["tojson"] = lambda value, **options: str(value)
    for messages in (_FIRST, _LONGER):
        for tools in (None, [_TOOL]):
            chat = {"messages": [*messages], "tools": tools, "add_generation_prompt": True}
            size = 0
            try:
                for piece in environment.from_string(text).generate(chat):
                    size += len(piece)
                    if size > _LONGEST:
                        raise OverflowError
            except (ExportError, MemoryError, OverflowError):
                raise
            except Exception:
                # Whatever it is that this template wants, it is not in this chat.
                continue
            written = written or size > 0
    return written
