"""What the whole answer of a request may be, as one grammar: thinking, then content or calls."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from hubserve_engine.constraints.calls import (
    MOST,
    Tool,
    anywhere,
    at_start,
    row,
    spoken,
    writable,
)
from hubserve_engine.constraints.grammar import Grammar
from hubserve_engine.constraints.kinds import content
from hubserve_engine.constraints.thinking import before_answer, before_content
from hubserve_engine.constraints.tools import Tools
from hubserve_engine.profiles import Profile
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.tool_formats.layout import Layout
from hubserve_engine.types import Chat, Rendered, Request, ToolUse


@dataclass(frozen=True, slots=True)
class Family:
    """What is known of a model's answers. `ends` are the texts of tokens that end one."""

    profile: Profile
    format: ToolFormat
    ends: Collection[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """Its grammar, and the layout of the calls that have to come, if any have to."""

    grammar: str
    calls: Layout | None = None


def answer(
    request: Request, rendered: Rendered, family: Family, tools: Tools, *, may_think: bool
) -> Answer:
    """What holds the answer to a request that has a constraint, or whose tools bind.

    Raises InvalidRequest and Unsupported.
    """
    grammar = Grammar()
    constraint, chat = request.constraint, request.prompt
    if not isinstance(chat, Chat):
        assert constraint is not None
        return Answer(grammar.source(content(grammar, constraint)))
    profile, use = family.profile, request.tool_use
    before = before_answer(grammar, profile, rendered, may_think=may_think)
    said = ""
    if constraint is not None:
        said = f"{before_content(grammar, profile, rendered)} {content(grammar, constraint)}"
    offered = tools.callable(chat.tools, use) if use.choice != "none" else []
    # A call that has to come must fit; one that may come is written as the model writes it.
    layout = writable(family.format, offered) if use.choice == "required" else None
    body = _body(grammar, use, offered, family, said=said, mark=rendered.mark, must=layout)
    return Answer(grammar.source(f"{before} {body}"), layout)


def _body(
    grammar: Grammar,
    use: ToolUse,
    offered: list[Tool],
    family: Family,
    *,
    said: str,
    mark: str,
    must: Layout | None,
) -> str:
    """Content, which is what is `said` or else anything, or calls; those that `must` come."""
    named = use.choice == "required" and use.allowed is not None and len(use.allowed) == 1
    most = MOST if use.parallel and not named else 1

    def calls(layout: Layout, begin: Callable[[str], str]) -> str:
        return row(grammar, layout, offered, family.ends, most=most, begin=begin)

    if must is not None:
        return calls(must, at_start(mark))
    ways = [said or grammar.rule("/(?s:.*)/")]
    if offered and said:
        ways.append(calls(family.format.layouts[0], at_start(mark)))
    elif offered:
        ways += [calls(each, anywhere(grammar, text, mark)) for each, text in spoken(family.format)]
    return f"({' | '.join(ways)})"
