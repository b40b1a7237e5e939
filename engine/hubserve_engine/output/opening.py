"""The fixed texts that a call begins with, met one after the other in text that comes in pieces."""

import re
from collections.abc import Iterable

_SPACE = re.compile(r"\s*")
_FILLER = re.compile(r"\s*[\w:./-]*")
_PLACES = re.compile(r"(\{id\}|\{index\}|\{number\}|\{name\}|\n)")
_MOST = 200  # characters of white space, or of an id


class Opening:
    """Meets `texts` in order. White space may stand before each; where a text has a place
    for a call's id, number or name, any word may. `optional` are texts that may be missing.

    `state` becomes "met", with what follows in `rest`, or "missed".
    """

    def __init__(self, texts: Iterable[str], *, optional: frozenset[str] = frozenset()) -> None:
        self._parts = [
            part.strip() for text in texts for part in _PLACES.split(text) if part.strip()
        ]
        self._optional = optional
        self._text = ""
        self.state = "open" if self._parts else "met"
        self.rest = ""

    @property
    def first(self) -> str:
        """The first text; empty where there is none."""
        return self._parts[0] if self._parts else ""

    def feed(self, text: str) -> None:
        self._text += text
        while self.state == "open" and self._step():
            pass
        if self.state == "met":
            self.rest, self._text = self.rest + self._text, ""

    def _step(self) -> bool:
        part = self._parts[0]
        is_place = _PLACES.fullmatch(part)
        skip = _FILLER if is_place else _SPACE
        skipped = skip.match(self._text)
        end = skipped.end() if skipped else 0
        if end > _MOST:
            self.state = "missed"
            return False
        if is_place:
            if end == len(self._text):
                return False
            return self._pass(end)
        text = self._text[end:]
        if text.startswith(part):
            return self._pass(end + len(part))
        if part.startswith(text):
            return False
        if part not in self._optional:
            self.state = "missed"
            return False
        return self._pass(end)

    def _pass(self, count: int) -> bool:
        self._text = self._text[count:]
        self._parts.pop(0)
        if not self._parts:
            self.state = "met"
        return True
