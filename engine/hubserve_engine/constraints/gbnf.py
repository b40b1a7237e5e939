"""llama.cpp's grammars (grammars/README.md, GBNF) -> Lark.

llguidance converts them, but makes one rule of names that differ in case or in `-` and `_` alone,
and loses the zeros of `\\u00e9`; so rules get other names first, and escapes become what they mean.
"""

import re
from collections.abc import Callable

from llguidance.gbnf_to_lark import gbnf_to_lark

_PART = re.compile(
    r'"(?P<text>(?:\\.|[^"\\])*)(?:"|\Z)'
    r"|\[(?P<class>(?:\\.|[^\]\\])*)(?:\]|\Z)"
    r"|\#[^\n]*"  # a remark
    r"|\{[^}]*\}"  # how many times
    r"|(?P<name>[a-zA-Z0-9_-]+)(?P<defined>\s*::=)?",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ROOT = "root"


def lark(text: str) -> str:
    """What is in Lark already comes back as it is. Raises ValueError, and what the converter
    raises: GbnfToLarkError, IndexError."""
    parts = list(_PART.finditer(text))
    defined = {part["name"] for part in parts if part["defined"]}
    if not defined:
        return text
    named = [part["name"] for part in parts if part["name"]]
    if missing := next((name for name in (_ROOT, *named) if name not in defined), None):
        raise ValueError(f"there is no rule {missing!r}")
    names = {name: f"rule{number}" for number, name in enumerate(dict.fromkeys(named))}
    names[_ROOT] = _ROOT

    def plain(part: re.Match[str]) -> str:
        if part["name"]:
            return names[part["name"]] + (part["defined"] or "")
        if part["text"] is not None:
            return _with(part, "text", _in_text)
        return part[0] if part["class"] is None else _with(part, "class", _in_class)

    return gbnf_to_lark(_PART.sub(plain, text))


def _with(part: re.Match[str], group: str, escaped: Callable[[re.Match[str]], str]) -> str:
    whole, start, end = part[0], part.start(group) - part.start(), part.end(group) - part.start()
    return whole[:start] + _ESCAPE.sub(escaped, whole[start:end]) + whole[end:]


def _in_text(escape: re.Match[str]) -> str:
    return escape[0] if escape[4] and escape[4] not in "[]" else _character(escape, '"\\')


def _in_class(escape: re.Match[str]) -> str:
    return escape[0] if escape[4] else _character(escape, "\\[]^-/")


def _character(escape: re.Match[str], special: str) -> str:
    """The character that is meant, still escaped where it would mean something else."""
    code = next((digits for digits in escape.groups()[:3] if digits), None)
    character = escape[4] if code is None else chr(int(code, 16))
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"{escape[0]} is no character")
    if character < " " or character == "\x7f" or character in special:
        return f"\\x{ord(character):02x}"
    return character
