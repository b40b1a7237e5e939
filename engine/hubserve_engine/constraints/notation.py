"""How values are written in arguments that are no JSON, and how texts are told in them."""

from dataclasses import dataclass
from typing import Any

from hubserve_engine.constraints.grammar import Grammar, literal, pattern
from hubserve_engine.constraints.patterns import size, text
from hubserve_engine.tool_formats.layout import JsonArguments, NestedArguments, PythonArguments

Pair = tuple[str, str]
_OF_TEXTS = ("minLength", "maxLength", "pattern")
_ESCAPED = r"""\\["'\\nrt]"""


@dataclass(frozen=True, slots=True)
class Notation:
    """Objects and arrays stand between `members` and `items`, with `separator` between what is in
    them; an item of an array stands between `item`. A member is one of `keys`, its value, and
    `after`, in which `{key}` is its name; `first_keys` are those of the arguments themselves.

    `quote` encloses texts, in which `stop` cannot be; None where they are those of JSON or Python.
    `words` are further names of literals. `clear` says whether a text differs from all else.
    """

    members: Pair
    items: Pair
    separator: str
    keys: tuple[str, ...]
    first_keys: tuple[str, ...] = ()
    arguments: Pair = ("", "")
    item: Pair = ("", "")
    after: str = ""
    quote: str | None = None
    stop: str = ""
    words: tuple[tuple[str, str], ...] = ()
    clear: bool = True

    @classmethod
    def of(cls, arguments: object) -> "Notation | None":
        match arguments:
            case PythonArguments():
                return _PYTHON
            case JsonArguments(quote) if quote != '"':
                brackets = ("{", "}")
                return cls(
                    brackets,
                    ("[", "]"),
                    ",",
                    ("{key}:",),
                    arguments=brackets,
                    quote=quote,
                    stop=quote,
                )
            case NestedArguments(mark):
                return cls(
                    ("", ""),
                    ("", ""),
                    "",
                    (f"{mark}<{{key}}>",),
                    item=(f"{mark}<item>", f"{mark}</item>"),
                    after=f"{mark}</{{key}}>",
                    quote="",
                    stop=mark,
                    clear=False,
                )
        return None

    def names(self, key: str, *, first: bool) -> bool:
        """Whether it has a way to write a member's name."""
        if first and self.first_keys:
            return key.isidentifier()
        if self.quote is None:
            return key.isprintable() and not set(key) & set("\"'\\")
        return (
            bool(key) and not set(key) & set("<>{}[](),:=\"'\\") and not any(map(str.isspace, key))
        )

    def tells(self, text: str) -> bool:
        """Whether a text can stand as it is."""
        return self.quote is None or self.stop not in text

    def text(self, grammar: Grammar, schema: dict[str, Any], end: str) -> str:
        """Any text that the schema of a string allows, and `end`."""
        if self.quote is not None:
            fitting = text(schema, without=pattern(self.stop))
            body = grammar.terminal(f"{fitting} {literal(self.quote + end)}")
            return f"{literal(self.quote)} {body}"
        said = {key: schema[key] for key in _OF_TEXTS if key in schema}
        double = grammar.json({"type": "string", **said})
        if "pattern" in said:
            body = f"({text(schema)} & /[^'\\\\\\x00-\\x1f]*/)"
        else:
            body = f"/([^'\\\\\\x00-\\x1f]|{_ESCAPED}){size(schema)}/"
        single = grammar.terminal(f'"\'" {body} "\'"')
        return f"({double} | {single})"

    def listed(self, text: str, end: str) -> list[str]:
        """This text alone, in each way in which it is written."""
        if self.quote is not None:
            return [literal(self.quote + text + self.quote + end)]
        written = [literal(literal(text) or '""')]
        if self.names(text, first=False):
            written.append(literal(f"'{text}'"))
        return written

    def word(self, word: str) -> str:
        named = [literal(name) for known, name in self.words if known == word]
        return " | ".join([*named, literal(word)])


_PYTHON = Notation(
    ("{", "}"),
    ("[", "]"),
    ", ",
    ('"{key}": ', "'{key}': "),
    first_keys=("{key}=",),
    words=(("true", "True"), ("false", "False"), ("null", "None")),
)
