"""What a request wants its answer to be -> an expression of a grammar."""

import json
from collections.abc import Callable

from hubserve_engine.constraints.gbnf import lark
from hubserve_engine.constraints.grammar import Grammar, expression
from hubserve_engine.constraints.schema import exact
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.types import Constraint

LONGEST = 64 * 1024
"""Characters of a grammar, a pattern or a choice."""
MOST_RULES = 500
"""Rules of a grammar in GBNF, which takes long to be said in Lark."""
DEEPEST = 60
"""Brackets within brackets in a grammar: parsers go as deep as those do, and end the process where
their stack ends."""


def content(grammar: Grammar, constraint: Constraint) -> str:
    """An expression for the whole answer. Raises InvalidRequest and Unsupported."""
    return _KINDS[constraint.kind](grammar, constraint)


def _json_object(grammar: Grammar, constraint: Constraint) -> str:
    return grammar.json({"type": "object"})


def _json_schema(grammar: Grammar, constraint: Constraint) -> str:
    return grammar.json(exact(constraint.value, param=constraint.param))


def _regex(grammar: Grammar, constraint: Constraint) -> str:
    regex = _text(constraint)
    if not regex:
        raise InvalidRequest(f"{constraint.param!r} is empty.", param=constraint.param)
    return grammar.other(f"start: {expression(regex)}")


def _choice(grammar: Grammar, constraint: Constraint) -> str:
    choices: tuple[str, ...] = tuple(constraint.value)
    if not choices or sum(map(len, choices)) > LONGEST:
        raise InvalidRequest(
            f"{constraint.param!r} must hold 1 or more strings, of at most {LONGEST} characters"
            " together.",
            param=constraint.param,
        )
    # One terminal. Of many a row would become too long.
    return grammar.terminal(
        " | ".join(json.dumps(c, ensure_ascii=False) for c in dict.fromkeys(choices))
    )


def _gbnf(grammar: Grammar, constraint: Constraint) -> str:
    text = _text(constraint)
    if text.count("::=") > MOST_RULES:
        raise InvalidRequest(
            f"{constraint.param!r} has more than {MOST_RULES} rules.", param=constraint.param
        )
    try:
        return grammar.other(lark(text))
    except Exception as error:
        # An unfinished range is an IndexError of the library's: whatever it raises, it is the text
        # that cannot be read.
        what = str(error)[:200] or type(error).__name__
        raise InvalidRequest(f"The grammar is not GBNF: {what}.", param=constraint.param) from error


def _lark(grammar: Grammar, constraint: Constraint) -> str:
    return grammar.other(_text(constraint))


def _text(constraint: Constraint) -> str:
    text = constraint.value
    if not isinstance(text, str):
        raise InvalidRequest(f"{constraint.param!r} must be a string.", param=constraint.param)
    if len(text) > LONGEST or _depth(text) > DEEPEST:
        raise InvalidRequest(
            f"{constraint.param!r} is too large: at most {LONGEST} characters, and {DEEPEST}"
            " brackets within each other, can be held to.",
            param=constraint.param,
        )
    return text


def _depth(text: str) -> int:
    """How deep brackets are within each other at most; those in quotes count, too."""
    deepest = depth = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(depth - 1, 0)
    return deepest


_KINDS: dict[str, Callable[[Grammar, Constraint], str]] = {
    "json_object": _json_object,
    "json_schema": _json_schema,
    "regex": _regex,
    "choice": _choice,
    "gbnf": _gbnf,
    "lark": _lark,
}
