"""Grammars as they are put together: rules in llguidance's Lark, and grammars that they name."""

import json
from dataclasses import dataclass, field
from typing import Any

from llguidance import regex_to_lark

JSON_OPTIONS = {
    # One line, as Python and JavaScript write it but for the spaces of the latter. What white space
    # may come is then known, which makes most of what stands between values forced.
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": False,
    "coerce_one_of": False,
}


@dataclass(slots=True)
class Grammar:
    """Rules under construction. The first is `start`; each method gives an expression for it."""

    rules: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    _names: int = 0

    def rule(self, body: str, *, attribute: str = "") -> str:
        """The name of a new rule; `attribute` is such as `[lazy]`."""
        name = self.reserved()
        self.rules.append(f"{name}{attribute}: {body}")
        return name

    def reserved(self) -> str:
        """The name of a rule that follows by `define`, for one that leads to itself."""
        self._names += 1
        return f"r{self._names - 1}"

    def define(self, name: str, body: str) -> None:
        self.rules.append(f"{name}: {body}")

    def terminal(self, body: str) -> str:
        """The name of something that is read as one, and so holds no rules."""
        name = f"T{self._names}"
        self._names += 1
        self.rules.append(f"{name}: {body}")
        return name

    def until(self, end: str) -> str:
        """Any text up to the first `end`, and `end`."""
        return self.rule(f"/(?s:.*){pattern(end)}/", attribute="[lazy]")

    def json(self, schema: dict[str, Any]) -> str:
        options = {**schema, "x-guidance": JSON_OPTIONS}
        return self.rule(f"%json {json.dumps(options, ensure_ascii=False)}")

    def other(self, lark: str) -> str:
        """A whole grammar with its own `start` and its own names."""
        name = f"g{len(self.others)}"
        self.others[name] = lark
        return f"@{name}"

    def source(self, start: str) -> str:
        """What llguidance takes."""
        lark = "\n".join((f"start: {start}", *self.rules, ""))
        grammars = [{"name": "start", "lark_grammar": lark}]
        grammars += [{"name": n, "lark_grammar": text} for n, text in self.others.items()]
        return json.dumps({"grammars": grammars})


def literal(text: str) -> str:
    """An expression for this text; nothing for none."""
    return json.dumps(text, ensure_ascii=False) if text else ""


def pattern(text: str) -> str:
    """A regular expression for this text, for use between slashes."""
    return "".join(_escaped(character) for character in text)


def expression(regex: str) -> str:
    """A regular expression in the syntax of Rust's, as an expression."""
    return f"/{regex_to_lark(regex)}/"


def _escaped(character: str) -> str:
    if character.isalnum() or character in "_ <>=\"',:;@%&!~`":
        return character
    if character == "\n":
        return "\\n"
    return f"\\{character}" if character.isascii() else character
