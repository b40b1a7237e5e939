"""What stands before an answer: thinking, the tags around it, and marks. See `channels`."""

from hubserve_engine.constraints.grammar import Grammar, literal
from hubserve_engine.profiles import Profile

_MOST_NEWLINES = 4
_MOST_MARKS = 4


def before_answer(
    grammar: Grammar, profile: Profile, *, thinking_open: bool, may_think: bool, started: bool
) -> str:
    """An expression for all that comes before the answer.

    `thinking_open`: the prompt ended inside thinking. Without `may_think` none is begun. `started`:
    the prompt ended with the mark at which the profile's answers start.
    """
    tags = profile.thinking_tags
    if tags is None or (started and not thinking_open):
        return ""
    opening, closing = tags
    gap = _gap(grammar, profile)
    opened = grammar.rule(literal(opening), attribute="[lazy]")
    thought = grammar.rule(f"{opened} {grammar.until(closing)} {gap}")
    parts = []
    if thinking_open:
        parts.append(f"{grammar.until(closing)} {gap} {thought}*")
    elif may_think:
        parts.append(f"({gap} {thought}+)?")
    if profile.answer_start:
        parts.append(f"{gap} {literal(profile.answer_start)}")
    return " ".join(parts)


def _gap(grammar: Grammar, profile: Profile) -> str:
    newlines = f"/\\n{{0,{_MOST_NEWLINES}}}/"
    marks = [literal(mark) for mark in profile.marks if mark != profile.answer_start]
    if not marks:
        return grammar.rule(newlines)
    return grammar.rule(f"{newlines} (({' | '.join(marks)}) {newlines}){{0,{_MOST_MARKS}}}")
