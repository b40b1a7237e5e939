"""Calls of tools, as a layout has them written -> an expression of a grammar."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hubserve_engine.constraints import values
from hubserve_engine.constraints.grammar import Grammar, literal, pattern
from hubserve_engine.constraints.notation import Notation
from hubserve_engine.constraints.tagged import holds, tagged
from hubserve_engine.tool_formats import GENERIC, ToolFormat
from hubserve_engine.tool_formats.layout import (
    Arguments,
    JsonBody,
    Layout,
    NamedBody,
    TaggedArguments,
)

MOST = 16
"""Calls in one answer."""
_PLACEHOLDERS = {
    "{id}": "/[a-zA-Z0-9]{9}/",
    "{index}": "/[0-9]{1,2}/",
    "{number}": "/[1-9][0-9]?/",
}
_SPLIT = re.compile("({id}|{index}|{number})").split
_FIXED = re.compile(r"\{(?:id|index|number|name)\}").split
_TELLING = 5
"""Characters that a text has at least which shows that a call begins."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that may be called, with a schema that a grammar holds to."""

    name: str
    parameters: dict[str, Any]


def writable(format: ToolFormat, tools: Sequence[Tool] = ()) -> Layout:
    """The layout in which calls, and the arguments of these tools, can be held to: that of the
    format, or the common one."""
    layout = format.layouts[0]
    notation = Notation.of(layout.body.arguments)
    match layout.body:
        case NamedBody() if notation is not None:
            held = all(values.holds(notation, each.parameters) for each in tools)
            return layout if held else GENERIC.layouts[0]
        case NamedBody(arguments=TaggedArguments()) if not all(
            holds(each.parameters) for each in tools
        ):
            return GENERIC.layouts[0]
        case _:
            return layout


def row(
    grammar: Grammar,
    layout: Layout,
    tools: Sequence[Tool],
    ends: Collection[str],
    *,
    most: int = MOST,
    begin: Callable[[str], str],
) -> str:
    """One call and up to `most` of them. `begin` makes an expression of the text that the first
    one begins with, up to its arguments.

    `ends` are the texts of tokens that end an answer: they are no text at the end of a row.
    """
    opening = _opening(layout).removesuffix(layout.call[0])
    closing = ("]" if layout.array else "") + layout.section[1]
    last = (layout.call[1] + closing).rstrip()
    for end in ends:
        last = last.removesuffix(end).rstrip() if end else last
    # What ends a call stands by itself. As the beginning of a longer text, which ends the row too,
    # it would have to be that one: what a grammar reads is as long as it can be.
    call_end = layout.call[1] if last.startswith(layout.call[1]) else ""
    between = layout.separator if call_end else layout.call[1] + layout.separator
    first, more = [], []
    for tool in tools:
        before, arguments, after = _call(grammar, layout, tool)
        body = f"{arguments} {_text(after)} {_text(call_end)}"
        first.append(f"{begin(opening + before)} {body}")
        more.append(f"{_text(between + before)} {body}")
    one = grammar.rule(" | ".join(first))
    last = last[len(call_end) :]
    if most == 1:
        return f"{one} {_text(last)}"
    return f"{one} {grammar.rule(' | '.join(more))}{{0,{most - 1}}} {_text(last)}"


def spoken(format: ToolFormat) -> list[Layout]:
    """The layouts in which a model may write a call: the first, and those that differ from it in
    what they begin with alone."""
    found = list(format.layouts[:1])
    for layout in format.layouts[1:]:
        body, first = layout.body, format.layouts[0].body
        alike = isinstance(body, NamedBody) and isinstance(first, NamedBody)
        told = any(_telling(each) in _opening(layout) for each in found)
        if alike and body.arguments == first.arguments and not told:
            found.append(layout)
    return found


def at_start(mark: str) -> Callable[[str], str]:
    """For `row`: calls at the start of an answer, of which `mark` has been written."""
    return lambda whole: _text(whole.removeprefix(mark))


def anywhere(grammar: Grammar, layout: Layout, mark: str) -> Callable[[str], str]:
    """The same for calls that begin in the midst of any text."""
    fixed = _telling(layout)
    rules: dict[str, str] = {}

    def begin(whole: str) -> str:
        text = fixed or whole
        before, at = "(?s:.*)", 0
        if mark and text.startswith(mark):
            before, at = f"((?s:.*){pattern(mark)})?", len(mark)
        if text not in rules:
            rules[text] = grammar.rule(f"/{before}{pattern(text[at:])}/", attribute="[lazy]")
        return f"{rules[text]} {_text(whole[whole.index(text) + len(text) :])}"

    return begin


def _opening(layout: Layout) -> str:
    """What stands before the body of a first call."""
    return layout.section[0] + ("[" if layout.array else "") + layout.call[0]


def _telling(layout: Layout) -> str:
    """The text that shows that a call begins, whatever its name; empty if none does."""
    opening = _opening(layout)
    parts = (part.strip() for part in _FIXED(opening))
    fixed = next((part for part in parts if len(part) >= _TELLING), "")
    if not fixed and isinstance(layout.body, JsonBody) and layout.body.name:
        fixed = (opening + "{" + layout.body.leading + f'"{layout.body.name}": "').lstrip()
        fixed = _FIXED(fixed)[0]
    return fixed


def _call(grammar: Grammar, layout: Layout, tool: Tool) -> tuple[str, str, str]:
    """What stands before the arguments, the arguments as an expression, and what stands behind,
    but for the end of the call."""
    name = literal(tool.name)
    before = layout.call[0]
    match layout.body:
        case JsonBody("", _, leading, trailing):
            before += f"{{{leading}{name}: "
            inside, after = grammar.json(tool.parameters), f"{trailing}}}"
        case JsonBody(key, arguments, leading, trailing):
            before += f'{{{leading}"{key}": {name}, "{arguments}": '
            inside, after = grammar.json(tool.parameters), f"{trailing}}}"
        case NamedBody(middle, arguments, end):
            before += tool.name + middle
            inside, after = _arguments(grammar, arguments, tool.parameters), end
    return before.replace("{name}", tool.name), inside, after.replace("{name}", tool.name)


def _arguments(grammar: Grammar, arguments: Arguments, schema: dict[str, Any]) -> str:
    if isinstance(arguments, TaggedArguments):
        return tagged(grammar, arguments, schema)
    notation = Notation.of(arguments)
    if notation is None:
        return grammar.json(schema)
    return values.Values(grammar, notation, schema).arguments()


def _text(text: str) -> str:
    """An expression for a text with placeholders."""
    parts = (_PLACEHOLDERS.get(part) or literal(part) for part in _SPLIT(text))
    return " ".join(part for part in parts if part)
