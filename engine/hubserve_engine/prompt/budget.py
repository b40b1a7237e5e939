"""How much text a template makes, counted before it is made.

The estimates are upper bounds which are near where templates are honest. A single value may have
`LARGEST` characters, and one rendering `TOTAL` in all its intermediate values together. Parts of
containers count as the characters that would take their memory. What one call makes is bounded so;
what a template piles up in many is for `limits` to notice.
"""

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.utils import Namespace

LARGEST = 16 * 2**20
TOTAL = 2**30
_SLOT = 8  # a place in a list
_TEXT = 64  # a short text of its own, and its place
_PARTS = 2**18  # of a container, parts of parts included
_BITS = 4096  # of whole numbers
_INDENT = 64

_DIGITS = re.compile(r"\d+")
_ENDS: dict[type, tuple[Any, ...]] = {str: ("\n", "\r"), bytes: (b"\n", b"\r")}
_SPACES: dict[type, tuple[Any, ...]] = {
    str: (" ", "\n", "\t", "\r", "\xa0", "\u3000"),
    bytes: (b" ", b"\n", b"\t", b"\r"),
}
_NESTED = re.compile(r"\{[^{}]*:[^{}]*\{")
_STAR = re.compile(r"%[^a-zA-Z%]*\*")

Arguments = Sequence[Any]
Named = Mapping[str, Any]


class TooLarge(SecurityError):
    """A template made, or was about to make, more text than it may."""


class _Purse(threading.local):
    left = TOTAL


_purse = _Purse()


def refill() -> None:
    """A new rendering begins in this thread."""
    _purse.left = TOTAL


def spend(size: int, *, before: int = 0) -> None:
    """Counts `size` characters of a value which has that many `before`; raises `TooLarge`."""
    _purse.left -= size
    if before + size > LARGEST or _purse.left < 0:
        raise TooLarge("it makes more text than a prompt can have")


def weigh(value: Any) -> int:
    """About how many characters `str(value)` has; raises `TooLarge` early when too many.

    Containers may hold one another many times over, so that little memory is endless text.
    """
    if isinstance(value, str | bytes):
        return len(value)
    total = parts = 0
    stack = [value]
    while stack:
        item = stack.pop()
        parts += 1
        if isinstance(item, str | bytes):
            total += len(item) + 2
        elif isinstance(item, Collection) and not isinstance(item, range) and len(item) > _PARTS:
            raise TooLarge("it makes more text than a prompt can have")
        elif isinstance(item, Mapping):
            total += 2
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, Namespace):
            stack.append(item._Namespace__attrs)
        elif isinstance(item, Collection) and not isinstance(item, range):
            total += 2
            stack.extend(item)
        elif isinstance(item, int):
            total += item.bit_length() // 3 + 3
        else:
            total += 32
        if total > LARGEST or parts > _PARTS:
            raise TooLarge("it makes more text than a prompt can have")
    return total


def _times(left: Any, right: Any) -> int:
    for text, count in ((left, right), (right, left)):
        if isinstance(text, str | bytes | list | tuple) and isinstance(count, int):
            return _width_of(text) * max(count, 0)
    if isinstance(left, int) and isinstance(right, int):
        _number(left.bit_length() + right.bit_length())
    return 0


def _power(left: Any, right: Any) -> int:
    if isinstance(left, int) and isinstance(right, int):
        _number(left.bit_length() * abs(right))
    return 0


def _number(bits: int) -> None:
    if bits > _BITS:
        raise TooLarge("it calculates with numbers that are too large")


def _width(width: Any) -> int:
    return width if isinstance(width, int) else 0


def _plus(left: Any, right: Any) -> int:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        return _width_of(left) + _width_of(right)
    return 0


def _width_of(value: str | bytes | list[Any] | tuple[Any, ...]) -> int:
    return len(value) * (1 if isinstance(value, str | bytes) else _SLOT)


def _percent(left: Any, right: Any) -> int:
    if not isinstance(left, str | bytes):
        return 0
    text = left if isinstance(left, str) else left.decode("latin-1")
    if _STAR.search(text):
        raise TooLarge("it takes the width of a text from a value")
    return _formatted(text, text.count("%"), (right,))


def _formatted(text: str, fields: int, values: Sequence[Any]) -> int:
    widths = sum(min(int(found[0][:12]), LARGEST) for found in _DIGITS.finditer(text))
    return len(text) + widths + fields * max((weigh(value) for value in values), default=0)


def _format(text: str, args: Arguments, kwargs: Named) -> int:
    if _NESTED.search(text):
        raise TooLarge("it takes the width of a text from a value")
    return _formatted(text, text.count("{"), [*args, *kwargs.values()])


def _replaced(text: str, old: Any, new: Any, count: Any = None) -> int:
    if not isinstance(old, str) or not isinstance(new, str):
        return len(text) + weigh(old) + weigh(new)
    return len(text) + text.count(old) * len(new)


def _joined(items: Sequence[Any], d: Any = "", attribute: Any = None) -> int:
    return sum(weigh(item) for item in items) + len(items) * weigh(d)


def _wrapped(
    text: str, width: Any = 79, break_long_words: Any = True, wrapstring: Any = None, *_: Any
) -> int:
    return len(text) * (1 + len(wrapstring or "\n"))


def _padded(text: str, width: Any = 80, *_: Any) -> int:
    return len(text) + _width(width)


def _split(text: Any, sep: Any = None, maxsplit: Any = -1) -> int:
    ends = (sep,) if isinstance(sep, type(text)) and sep else _SPACES[type(text)]
    parts: int = 1 + sum(map(text.count, ends))
    if isinstance(maxsplit, int) and maxsplit >= 0:
        parts = min(parts, maxsplit + 1)
    return len(text) + parts * _TEXT


def _lines(text: Any) -> int:
    """At least as many as there are, unless the text has some of the rarer line ends."""
    lines: int = 1 + sum(map(text.count, _ENDS[type(text)]))
    return lines


def _summed(items: Any, attribute: Any = None, start: Any = 0) -> int:
    if not isinstance(start, list | tuple):
        return 0
    return sum(_width_of(item) if isinstance(item, list | tuple) else LARGEST for item in items)


def _filled(items: Any, linecount: Any = 0, fill_with: Any = None, slices: Any = 0) -> int:
    letters = len(items) if isinstance(items, str | bytes) else 0
    return (_width(linecount) + _width(slices)) * _SLOT + letters * _TEXT


_METHODS: dict[str, Callable[..., int]] = {
    "+": _plus,
    "*": _times,
    "**": _power,
    "%": _percent,
    "center": _padded,
    "ljust": _padded,
    "rjust": _padded,
    "zfill": _padded,
    "expandtabs": lambda text, tabsize=8: len(text) * max(1, _width(tabsize)),
    "replace": _replaced,
    "join": lambda text, items: _joined(items, text),
    "split": _split,
    "rsplit": _split,
    "splitlines": lambda text, keepends=False: len(text) + _lines(text) * _TEXT,
    "translate": lambda text, table: len(text) * weigh(table),
    "to_bytes": lambda number, length=1, *_, **__: _width(length),
}
# These look, and make nothing.
_LOOK = frozenset(("startswith", "endswith", "find", "rfind", "index", "rindex", "count"))


def method_size(owner: Any, name: str, args: Arguments, kwargs: Named) -> int:
    """The size of what a method of a string (or an operator) makes."""
    if name in ("format", "format_map") and isinstance(owner, str):
        return _format(owner, args, kwargs)
    if size := _METHODS.get(name):
        return size(owner, *args, **kwargs)
    if name in _LOOK or isinstance(owner, int):
        return 0
    return len(owner)


# These make a list of words first.
_BY_WORDS = frozenset(("striptags", "title", "urlize", "wordcount", "wordwrap"))
# The parameters are called as Jinja calls them.
_TEXT_FILTERS: dict[str, Callable[..., int]] = {
    "center": _padded,
    "replace": lambda text, old, new, count=None: _replaced(text, old, new),
    "format": lambda text, *values, **named: _percent(text, (values, named)),
    "wordwrap": _wrapped,
    "indent": lambda text, width=4, *_, **__: _indented(width, _lines(text)) + _lines(text) * _TEXT,
}
_LIST_FILTERS: dict[str, Callable[..., int]] = {
    "sum": _summed,
    "join": _joined,
    "batch": _filled,
    "slice": lambda items, slices, fill_with=None: _filled(items, slices=slices),
}
# These look, or take one part.
_LOOK_AT = frozenset(("attr", "count", "d", "default", "first", "last", "length", "random"))
# These hand on the items of a container, or look at it, and make no text of it.
_KEEP = {"dictsort", "groupby", "items", "list", "map", "max", "min", "reject", "rejectattr"}
_KEEP |= {"reverse", "select", "selectattr", "sort", "unique"}


def items_of(value: Any) -> list[Any]:
    """The items of anything that has some, letters of a text too; raises `TooLarge`."""
    if isinstance(value, str | bytes):
        spend(len(value) * _TEXT)
    return list(value)


def filter_size(name: str, value: Any, args: Arguments, kwargs: Named) -> int:
    """The size of what a filter makes of `value`."""
    if size := _LIST_FILTERS.get(name):
        return size(value, *args, **kwargs)
    if name in _LOOK_AT:
        return 0
    if name in _KEEP:
        return len(value) * _TEXT if isinstance(value, str | bytes) else 0
    plain = weigh(value)
    if name in _BY_WORDS:
        plain += len(value) * _TEXT // 2 if isinstance(value, str | bytes) else 0
    if name == "tojson":
        indent = args[1] if len(args) > 1 else kwargs.get("indent")
        return plain + _indented(indent, plain // 4)
    if size := _TEXT_FILTERS.get(name):
        return plain + size(str(value), *args, **kwargs)
    return plain


def _indented(indent: Any, lines: int) -> int:
    if isinstance(indent, str):
        return len(indent) * lines
    columns = _width(indent)
    if columns > _INDENT:
        raise TooLarge(f"it indents by {columns}, where at most {_INDENT} make sense")
    return columns * lines
