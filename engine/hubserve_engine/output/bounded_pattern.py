"""A client's regular expression, tried only where that cannot take long.

Python's expressions go back and try again, which may take for ever; nothing interrupts them. How
many steps one can take at most is counted first, from its text and the length of what it is tried
on. What Python does not know, or reads otherwise than JavaScript by a shade, is let pass.
"""

import logging
import re
from dataclasses import dataclass
from functools import lru_cache

logger = logging.getLogger(__name__)

MOST = 500_000
"""Steps. Python takes some fifty million a second."""
_LONGEST = 2000
_ENDLESS = 10**12
_REPEATED = re.compile(r"([*+?]|\{(\d+)(?:(,)(\d*))?\})[?+]?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(<?[=!])|\?(?:<\w+>|P<\w+>|[a-zA-Z-]*:))?")


@dataclass(frozen=True, slots=True)
class _Cost:
    """In how many ways a part of an expression can match at one place, and the steps for all."""

    ways: int = 1
    steps: int = 1


def steps(pattern: str, text: str) -> int:
    """The most steps that a search may take."""
    if len(pattern) > _LONGEST:
        return _ENDLESS
    try:
        cost = _Counting(pattern, len(text) + 1).all()
    except RecursionError:
        return _ENDLESS
    anchored = pattern.startswith("^") and "|" not in pattern
    return cost.steps if anchored else min(_ENDLESS, cost.steps * (len(text) + 1))


def found(pattern: str, text: str) -> bool:
    """Whether it is found in a text; True where that cannot be told in `MOST` steps, which the log
    says once of each pattern."""
    if steps(pattern, text) > MOST:
        _say(pattern)
        return True
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return True


@lru_cache(256)
def _say(pattern: str) -> None:
    logger.warning("texts are not held to a pattern that could take too long: %.100r", pattern)


class _Counting:
    """`most` is how often something endless may be repeated."""

    def __init__(self, pattern: str, most: int) -> None:
        self._pattern = pattern
        self._most = most
        self._at = 0

    def all(self) -> _Cost:
        cost = self._options()
        return cost if self._at == len(self._pattern) else _Cost(_ENDLESS, _ENDLESS)

    def _options(self) -> _Cost:
        """Up to the end of the group."""
        ways, total = 0, 0
        while True:
            one = self._row()
            ways, total = ways + one.ways, total + one.steps
            if not self._pattern.startswith("|", self._at):
                return _Cost(min(ways, _ENDLESS), min(total, _ENDLESS))
            self._at += 1

    def _row(self) -> _Cost:
        ways, total = 1, 1
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            each = self._repeated(self._one())
            total = min(_ENDLESS, total + ways * each.steps)
            ways = min(_ENDLESS, ways * each.ways)
        return _Cost(ways, total)

    def _one(self) -> _Cost:
        if group := _GROUP.match(self._pattern, self._at):
            self._at = group.end()
            inside = self._options()
            self._at += 1  # of its bracket; beyond the end if there is none
            return _Cost(1, inside.steps) if group[1] else inside
        listed = _CLASS.match(self._pattern, self._at)
        self._at = listed.end() if listed else self._at + 1 + (self._pattern[self._at] == "\\")
        return _Cost()

    def _repeated(self, one: _Cost) -> _Cost:
        repeat = _REPEATED.match(self._pattern, self._at)
        if repeat is None:
            return one
        self._at = repeat.end()
        least, most = self._range(repeat)
        if one.ways == 1:
            return _Cost(most - least + 1, min(_ENDLESS, one.steps * most + 1))
        ways = _ENDLESS if most * one.ways.bit_length() > 64 else one.ways**most
        return _Cost(min(_ENDLESS, ways + 1), min(_ENDLESS, ways * one.steps * most + 1))

    def _range(self, repeat: re.Match[str]) -> tuple[int, int]:
        """How often at least and at most, as far as the text has room for it."""
        if repeat[1] in "*+?":
            return 0, 1 if repeat[1] == "?" else self._most
        least = int(repeat[2][:6])
        most = least if not repeat[3] else int(repeat[4][:6]) if repeat[4] else self._most
        return min(least, self._most), max(1, min(most, self._most))
