"""Patterns of JSON Schema, which are found anywhere in a text -> expressions for a whole text."""

from typing import Any

from hubserve_engine.constraints.grammar import expression

_ANY = "(?s:.*)"


def whole(pattern: object) -> str | None:
    """A regular expression for the texts in which the pattern is found; None where it says more of
    a text's ends than that it begins or ends there."""
    if not isinstance(pattern, str):
        return None
    start = pattern.startswith("^")
    inner = pattern[start:]
    special = list(_special(inner))
    end = bool(special) and special[-1] == (len(inner) - 1, "$", 0)
    if end:
        inner = inner[:-1]
        special.pop()
    for _, character, depth in special:
        if character in "^$" or (character == "|" and depth == 0 and (start or end)):
            return None
    return ("" if start else _ANY) + f"(?:{inner})" + ("" if end else _ANY)


def _special(pattern: str) -> list[tuple[int, str, int]]:
    """Anchors and bars outside of classes: where, which, and in how many brackets."""
    found, depth, in_class, at = [], 0, False, 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character in "^$|":
            found.append((at, character, depth))
        at += 1
    return found


def text(schema: dict[str, Any], *, without: str = "") -> str:
    """An expression for the texts that the schema of a string allows, whose pattern is one that
    `whole` takes, and in which the expression `without` is not found."""
    parts = [f"/(?s:.){size(schema)}/"]
    if "pattern" in schema:
        parts.append(expression(whole(schema["pattern"]) or _ANY))
    if without:
        parts.append(f"~/{_ANY}{without}{_ANY}/")
    return f"({' & '.join(parts)})"


def size(schema: dict[str, Any]) -> str:
    """How many characters a text has, behind what stands for one."""
    high = schema.get("maxLength")
    return f"{{{schema.get('minLength') or 0},{'' if high is None else high}}}"
