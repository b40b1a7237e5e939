"""What stands before an answer: thinking, the tags around it, and marks. See `channels`."""

from hubserve_engine.constraints.grammar import Grammar, literal
from hubserve_engine.profiles import Profile
from hubserve_engine.types import Rendered

_MOST_NEWLINES = 4
_MOST_MARKS = 4
_MOST_BLOCKS = 4
"""Of thinking: a model that opens one after the other would never answer."""


def before_answer(
    grammar: Grammar, profile: Profile, rendered: Rendered, *, may_think: bool
) -> str:
    """An expression for the thinking. Without `may_think` none is begun."""
    tags = profile.thinking_tags
    if tags is None or (_started(profile, rendered) and not rendered.thinking_open):
        return ""
    opening, closing = tags
    gap = _gap(grammar, profile)
    opened = grammar.rule(literal(opening), attribute="[lazy]")
    thought = grammar.rule(f"{opened} {grammar.until(closing)} {gap}")
    parts = []
    if rendered.thinking_open:
        parts.append(f"{grammar.until(closing)} {gap} {thought}{{0,{_MOST_BLOCKS - 1}}}")
    elif may_think:
        parts.append(f"({gap} {thought}{{1,{_MOST_BLOCKS}}})?")
    return " ".join(parts)


def before_content(grammar: Grammar, profile: Profile, rendered: Rendered) -> str:
    """An expression for what leads from there to the words of the answer; calls have their own."""
    start = profile.answer_start
    if not start or (_started(profile, rendered) and not rendered.thinking_open):
        return ""
    if rendered.mark:
        return literal(start[len(rendered.mark) :])
    return f"{_gap(grammar, profile)} {literal(start)}"


def _started(profile: Profile, rendered: Rendered) -> bool:
    """Whether the prompt ended with the mark at which answers start."""
    return bool(profile.answer_start) and rendered.text.endswith(profile.answer_start)


def _gap(grammar: Grammar, profile: Profile) -> str:
    newlines = f"/\\n{{0,{_MOST_NEWLINES}}}/"
    marks = [literal(mark) for mark in profile.marks if mark != profile.answer_start]
    if not marks:
        return grammar.rule(newlines)
    return grammar.rule(f"{newlines} (({' | '.join(marks)}) {newlines}){{0,{_MOST_MARKS}}}")
