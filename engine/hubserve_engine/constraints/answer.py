"""What the whole answer of a request may be, as one grammar: thinking, then content or calls."""

from collections.abc import Collection
from dataclasses import dataclass

from hubserve_engine.constraints.calls import MOST, row, trigger, writable
from hubserve_engine.constraints.grammar import Grammar, pattern
from hubserve_engine.constraints.kinds import content
from hubserve_engine.constraints.thinking import before_answer
from hubserve_engine.constraints.tools import Tools
from hubserve_engine.profiles import Profile
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.types import Chat, Rendered, Request


@dataclass(frozen=True, slots=True)
class Family:
    """What is known of a model's answers. `ends` are the texts of tokens that end one."""

    profile: Profile
    format: ToolFormat
    ends: Collection[str]


def source(
    request: Request, rendered: Rendered, family: Family, tools: Tools, *, may_think: bool
) -> str:
    """The grammar of the answer to a request that has a constraint, or whose tools bind.

    Raises InvalidRequest and Unsupported.
    """
    grammar = Grammar()
    constraint, chat = request.constraint, request.prompt
    if not isinstance(chat, Chat):
        assert constraint is not None
        return grammar.source(content(grammar, constraint))
    before = before_answer(
        grammar,
        family.profile,
        thinking_open=rendered.thinking_open,
        may_think=may_think,
        started=bool(family.profile.answer_start)
        and rendered.text.endswith(family.profile.answer_start),
    )
    said = content(grammar, constraint) if constraint is not None else None
    return grammar.source(f"{before} {_body(grammar, request, chat, said, family, tools)}")


def _body(
    grammar: Grammar, request: Request, chat: Chat, said: str | None, family: Family, tools: Tools
) -> str:
    """Content or calls."""
    use = request.tool_use
    offered = tools.callable(chat.tools, use) if use.choice != "none" else []
    # A call that has to come must fit; one that may come is written as the model writes it.
    layout = writable(family.format, offered if use.choice == "required" else ())
    named = use.choice == "required" and use.allowed is not None and len(use.allowed) == 1
    most = MOST if use.parallel and not named else 1
    if use.choice == "required":
        return row(grammar, layout, offered, family.ends, most=most)
    if said is not None:
        calls = row(grammar, layout, offered, family.ends, most=most) if offered else ""
        return f"({said} | {calls})" if calls else said
    begun = trigger(layout)
    free = "/(?s:.*)/"
    if begun is None:
        return grammar.rule(free)
    begins = grammar.rule(f"/(?s:.*){pattern(begun)}/", attribute="[lazy]")
    calls = row(grammar, layout, offered, family.ends, most=most, begun=begun)
    return f"({grammar.rule(free)} | {begins} {calls})"
