"""Where a text holds the texts of special tokens.

llama_tokenize looks for them by itself, but walks over all it has found for each that it finds: a
text of a hundred thousand takes it minutes. What it finds is found here in one pass. It takes the
longest special text first, at each place where it stands, then the next one in what is left
(tokenizer_st_partition of src/llama-vocab.cpp, 0.5.0).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

_LONGEST = 128
"""Bytes of a special text; real ones have fewer than 50."""
_SPACE = b" \t\n\v\f\r"


class SpecialTokens:
    """`tokens` are the ids of the texts. White space is dropped before the texts in `strip_before`
    and after those in `strip_after`."""

    def __init__(
        self,
        tokens: Mapping[bytes, int],
        *,
        strip_before: frozenset[bytes] = frozenset(),
        strip_after: frozenset[bytes] = frozenset(),
    ) -> None:
        self._tokens = tokens
        self._before = strip_before
        self._after = strip_after
        self.exact = all(len(text) <= _LONGEST for text in tokens)
        """False where what llama.cpp finds depends on more than is known here, such as which of two
        texts of the same length comes first."""
        if not self.exact:
            return
        self._pattern = re.compile(_pattern(list(tokens)), re.DOTALL)
        pairs = _tangled(tokens)
        self._tangled = {text for pair in pairs for text in pair}
        self._reach = max(map(len, self._tangled), default=0)
        inside = {text for text in tokens if any(text in whole for whole in self._tangled)}
        self._inside = sorted(inside, key=len, reverse=True)
        self._find_cached = lru_cache(maxsize=256)(self._find_inside)
        self.exact = all(len(one) != len(other) for one, other in pairs) and not (
            (strip_before or strip_after) and any(t != t.strip(_SPACE) for t in tokens)
        )

    def split(self, text: bytes) -> Iterator[bytes | int]:
        """The ids of special tokens, and what stands between them, in order."""
        end = 0
        strip = False
        for start, found in self._find(text):
            between = text[end:start]
            if strip:
                between = between.lstrip(_SPACE)
            if found in self._before:
                between = between.rstrip(_SPACE)
            if between:
                yield between
            yield self._tokens[found]
            strip = found in self._after
            end = start + len(found)
        rest = text[end:].lstrip(_SPACE) if strip else text[end:]
        if rest:
            yield rest

    def _find(self, text: bytes) -> Iterator[tuple[int, bytes]]:
        """Places and texts of the special tokens."""
        end = 0
        while self._tokens and (match := self._pattern.search(text, end)):
            start, end = match.span()
            if match[0] not in self._tangled:
                yield start, match[0]
                continue
            end = self._end_of_stretch(text, start, end)
            for place, found in self._find_cached(text[start:end]):
                yield start + place, found

    def _end_of_stretch(self, text: bytes, start: int, end: int) -> int:
        """Where what is tangled ends, so that no special text crosses that place."""
        while True:
            following = self._pattern.match(text, end)
            if following and following[0] in self._tangled:
                end = following.end()
                continue
            earlier = range(max(start + 1, end - self._reach), end)
            matches = (self._pattern.match(text, place) for place in earlier)
            reached = max((match.end() for match in matches if match), default=end)
            if reached <= end:
                return end
            end = reached

    def _find_inside(self, stretch: bytes) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        free = [(0, len(stretch))]
        for text in self._inside:
            left: list[tuple[int, int]] = []
            for start, end in free:
                while (place := stretch.find(text, start, end)) >= 0:
                    if place > start:
                        left.append((start, place))
                    found.append((place, text))
                    start = place + len(text)
                if start < end:
                    left.append((start, end))
            free = left
        return sorted(found)


def _tangled(texts: Iterable[bytes]) -> set[tuple[bytes, bytes]]:
    """Pairs of which the one's end is the other's beginning, so that both may claim a place."""
    beginnings: dict[bytes, list[bytes]] = {}
    for text in texts:
        for length in range(1, len(text)):
            beginnings.setdefault(text[:length], []).append(text)
    return {
        (text, other)
        for text in texts
        for length in range(1, len(text))
        for other in beginnings.get(text[-length:], ())
        if other != text
    }


def _pattern(texts: Sequence[bytes]) -> bytes:
    """The longest of the texts that fits, letter by letter: thousands side by side would take as
    many attempts at each place."""
    start = _common_start(texts)
    groups: dict[bytes, list[bytes]] = {}
    for text in texts:
        if rest := text[len(start) :]:
            groups.setdefault(rest[:1], []).append(rest)
    if not groups:
        return re.escape(start)
    branches = b"|".join(_pattern(group) for group in groups.values())
    return re.escape(start) + b"(?:" + branches + (b")?" if start in texts else b")")


def _common_start(texts: Sequence[bytes]) -> bytes:
    first, last = min(texts, default=b""), max(texts, default=b"")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return first[: sum(1 for _ in same)]
