"""Calls of tools, as a layout has them written -> an expression of a grammar."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hubserve_engine.constraints import values
from hubserve_engine.constraints.branches import unnamed
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
_ANYTHING = "/(?s:.*)/"
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
    first, more, free, free_later = [], [], [], []
    for tool in tools:
        before, arguments, after = _call(grammar, layout, tool)
        start, later = begin(opening + before), _text(between + before)
        if arguments is None:
            free.append(f"{start} {_ANYTHING}")
            free_later.append(f"{later} {_ANYTHING}")
            continue
        body = f"{arguments} {_text(after)} {_text(call_end)}"
        first.append(f"{start} {body}")
        more.append(f"{later} {body}")
    if not first:
        return grammar.rule(" | ".join(free))
    one, end = grammar.rule(" | ".join(first)), _text(last[len(call_end) :])
    if most > 1:
        one = f"{one} {grammar.rule(' | '.join(more))}{{0,{most - 1}}}"
        end = f"({' | '.join(filter(None, [*free_later, end]))})" if free or end else ""
        end += "?" if free and not last[len(call_end) :] else ""
    return f"({' | '.join([*free, f'{one} {end}'])})"


def spoken(format: ToolFormat) -> list[tuple[Layout, str]]:
    """The layouts in which a model may write a call: the first, and those that differ from it in
    what they begin with alone; each with the text that shows that a call begins."""
    first, *others = format.layouts
    found = [(first, _telling(first))]
    for layout in others:
        text = _telling(layout)
        same = replace(first, call=(layout.call[0], first.call[1]))
        if layout == same and found[0][1].endswith(text):
            found[0] = (first, text)  # the first with its beginning forgotten
            continue
        alike = isinstance(layout.body, NamedBody) and isinstance(first.body, NamedBody)
        told = any(known in _opening(layout) for _, known in found)
        if alike and not told and layout.body.arguments == first.body.arguments:
            found.append((layout, text))
    return found


def at_start(mark: str) -> Callable[[str], str]:
    """For `row`: calls at the start of an answer, of which `mark` has been written."""
    return lambda whole: _text(whole.removeprefix(mark))


def anywhere(grammar: Grammar, telling: str, mark: str) -> Callable[[str], str]:
    """The same for calls that begin in the midst of any text with one that is `telling`, or else
    with all up to the arguments."""
    rules: dict[str, str] = {}

    def begin(whole: str) -> str:
        text = telling or whole
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


def _call(grammar: Grammar, layout: Layout, tool: Tool) -> tuple[str, str | None, str]:
    """What stands before the arguments, the arguments as an expression (None if they can be more
    than the notation can be held to), and what stands behind, but for the end of the call."""
    name = literal(tool.name)
    before = layout.call[0]
    inside: str | None
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


def _arguments(grammar: Grammar, arguments: Arguments, schema: dict[str, Any]) -> str | None:
    if isinstance(arguments, TaggedArguments):
        return None if unnamed(schema) else tagged(grammar, arguments, schema)
    notation = Notation.of(arguments)
    if notation is None:
        return grammar.json(schema)
    return None if unnamed(schema) else values.Values(grammar, notation, schema).arguments()


def _text(text: str) -> str:
    """An expression for a text with placeholders."""
    parts = (_PLACEHOLDERS.get(part) or literal(part) for part in _SPLIT(text))
    return " ".join(part for part in parts if part)
