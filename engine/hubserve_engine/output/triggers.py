"""The texts that can begin a call, and which layouts begin so."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hubserve_engine.output.loose import LOOSE
from hubserve_engine.output.opening import Opening
from hubserve_engine.tool_formats import FORMATS, ToolFormat
from hubserve_engine.tool_formats.layout import JsonBody, Layout

Texts = tuple[str, ...]


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
    marked = [layout for layout in layouts if (layout.section[0] + layout.call[0]).strip()]
    found = dict.fromkeys((*format.layouts, *marked, *LOOSE))
    own = frozenset(format.layouts)
    return [Way(layout, layout in own, tuple(_openings(layout))) for layout in found]


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
    """Those of one format; `texts` are the triggers, none of which begins with another."""

    def __init__(self, format: ToolFormat) -> None:
        self._openings: dict[str, list[tuple[Way, Texts]]] = {}
        for way in _ways(format):
            for opening in way.openings:
                if first := _first_text(way, opening):
                    self._openings.setdefault(first, []).append((way, opening))
        firsts = list(self._openings)
        self.texts = [
            text for text in firsts if not any(o != text and text.startswith(o) for o in firsts)
        ]
        self._pattern = re.compile("|".join(map(re.escape, self.texts)))

    def search(self, text: str, start: int) -> re.Match[str] | None:
        """The first trigger in `text` from `start` on."""
        return self._pattern.search(text, start)

    def ways(self, trigger: str) -> list[tuple[Way, Texts]]:
        """The ways that begin with `trigger`, each with its opening; the model's own first."""
        found = [
            pair
            for first, pairs in self._openings.items()
            if first.startswith(trigger)
            for pair in pairs
        ]
        return sorted(found, key=lambda pair: not pair[0].own)


@lru_cache
def triggers(format: ToolFormat) -> Triggers:
    return Triggers(format)
