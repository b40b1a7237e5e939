"""A model's chat template: compiled once, rendered for each chat."""

import json
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hubserve_engine.errors import PromptError
from hubserve_engine.types import Chat, Message, ReasoningSwitch, Rendered


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on; for a prompt it means nothing."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


class ChatTemplate:
    def __init__(self, source: str, *, bos: str, eos: str) -> None:
        env = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
        )
        env.filters["tojson"] = _tojson
        env.globals["raise_exception"] = _raise
        env.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
        try:
            self._template = env.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(
                f"The chat template is not valid: line {error.lineno}: {error.message}"
            ) from error
        self._bos, self._eos = bos, eos
        self.thinking_switch: str | None = (
            "enable_thinking" if "enable_thinking" in source else None
        )

    def render(self, chat: Chat, *, reasoning: ReasoningSwitch) -> Rendered:
        switch = chat.reasoning or reasoning
        arguments: dict[str, Any] = {"bos_token": self._bos, "eos_token": self._eos}
        if switch != "auto":
            arguments["enable_thinking"] = switch == "on"
        arguments.update(chat.template_arguments)
        try:
            text = self._template.render(
                messages=[_plain(m) for m in chat.messages],
                tools=list(chat.tools) or None,
                documents=None,
                add_generation_prompt=chat.add_generation_prompt,
                **arguments,
            )
        except Exception as error:
            raise PromptError(
                f"The chat template refuses these messages: {error}", param="messages"
            ) from error
        return Rendered(text, thinking_open=text.rstrip().endswith("<think>"))


def _plain(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content or ""}
    if message.reasoning:
        plain["reasoning_content"] = message.reasoning
    if message.tool_calls:
        plain["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.loads(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        plain["tool_call_id"] = message.tool_call_id
    if message.name:
        plain["name"] = message.name
    return plain
