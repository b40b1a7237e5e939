"""The texts that can begin a call, and which layouts begin so."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from hubserve_engine.output.loose import LOOSE, in_fence
from hubserve_engine.output.opening import Opening
from hubserve_engine.tool_formats import FORMATS, ToolFormat
from hubserve_engine.tool_formats.layout import JsonBody, Layout

Texts = tuple[str, ...]

_SHORT = 4
_LONGEST = 64
_AT_LINE_START = ("{", "[", "```")


@dataclass(frozen=True, slots=True)
class Way:
    """A layout, and whether it is the model's own. `openings` are the texts that may stand before
    a call of it: of a whole row, and of a call without one."""

    layout: Layout
    own: bool
    openings: tuple[Texts, ...]


def _ways(format: ToolFormat) -> list[Way]:
    """All there are, the model's own first."""
    layouts = [layout for other in FORMATS.values() for layout in other.layouts]
    marked = [layout for layout in layouts if _is_marked(layout)]
    fenced = map(in_fence, format.layouts)
    found = dict.fromkeys((*format.layouts, *marked, *fenced, *LOOSE))
    own = frozenset(format.layouts)
    return [Way(layout, layout in own, tuple(_openings(layout))) for layout in found]


def _is_marked(layout: Layout) -> bool:
    """Whether its calls begin with something that is hardly ever text."""
    return len(Opening((layout.section[0], layout.call[0])).first) > _SHORT


def _openings(layout: Layout) -> Iterator[Texts]:
    section, call = layout.section[0], layout.call[0]
    bracket = ("[",) if layout.array else ()
    if section.strip():
        yield (section, *bracket, call)
    if call.strip():
        yield (call,)
    if not section.strip() and not call.strip():
        if bracket:
            yield bracket
        if isinstance(layout.body, JsonBody):
            yield ()


def _first_text(way: Way, opening: Texts) -> str:
    """The fixed text that a call begins with in this way; empty where there is none."""
    return Opening(opening).first or ("{" if isinstance(way.layout.body, JsonBody) else "")


class Triggers:
    """Those of one format; `texts` are all of them. Some count only where a line begins with them,
    as they mean something else in the middle of one; of the others none begins with another."""

    def __init__(self, format: ToolFormat) -> None:
        self._openings: dict[str, list[tuple[Way, Texts]]] = {}
        for way in _ways(format):
            for opening in way.openings:
                if first := _first_text(way, opening):
                    self._openings.setdefault(first, []).append((way, opening))
        firsts = self._openings.keys() - _AT_LINE_START
        anywhere = [
            text for text in firsts if not any(o != text and text.startswith(o) for o in firsts)
        ]
        self.texts = sorted({*anywhere, *_AT_LINE_START})
        self._anywhere = _any_of(anywhere)
        self._all = _any_of((*_AT_LINE_START, *anywhere))
        self._beginning = re.compile(_beginnings(self.texts))

    def search(self, text: str, blank_line: bool) -> re.Match[str] | None:
        """The first trigger in `text`, before which there is nothing else in its line if
        `blank_line` says so."""
        at = 0
        while found := self._all.search(text, at):
            at = found.start()
            if found[0] not in _AT_LINE_START or _begins_line(text[:at], blank_line):
                return found
            if found := self._anywhere.match(text, at):
                return found
            at += 1
        return None

    def partial(self, text: str) -> int:
        """How many characters at the end of `text` may grow into a trigger."""
        start = max(0, len(text) - _LONGEST)
        found = self._beginning.search(text, start)
        return len(text) - found.start() if found else 0

    def ways(self, trigger: str) -> list[tuple[Way, Texts]]:
        """The ways that begin with `trigger`, each with its opening; the model's own first."""
        found = [
            pair
            for first, pairs in self._openings.items()
            if first.startswith(trigger)
            for pair in pairs
        ]
        return sorted(found, key=lambda pair: not pair[0].own)


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)))


def _beginnings(texts: Iterable[str]) -> str:
    """A pattern for a text that ends within one of `texts`, in which each letter is looked at once
    however many they are."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        if len(text) > 1:
            groups.setdefault(text[0], []).append(text[1:])
    branches = [
        re.escape(first) + rf"(?:\Z|{_beginnings(rest)})"
        if any(len(r) > 1 for r in rest)
        else re.escape(first) + r"\Z"
        for first, rest in groups.items()
    ]
    return "|".join(branches)


def _begins_line(before: str, blank_line: bool) -> bool:
    _, newline, line = before.rpartition("\n")
    return not line.strip() and (bool(newline) or blank_line)


@lru_cache
def triggers(format: ToolFormat) -> Triggers:
    return Triggers(format)
