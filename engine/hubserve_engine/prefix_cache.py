"""Every prefix that the worker has, wherever it lies, and which of them is worth keeping.

A holding is live (a running sequence's), kept (a finished one's, in its slot), or a copy of a state
in host memory or on disk. All of them are in one radix tree, so that one walk finds the longest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hubserve_engine.radix_tree import RadixTree, Tokens
from hubserve_engine.sequence import Sequence
from hubserve_engine.types import CacheTier

_GAIN, _GAIN_SHARE = 64, 32
"""A copy is fetched if it saves the reading of so many tokens, and of one in so many of its own, as
all of it is fetched."""
_FRESH = 8
"""After so many uses of others a prefix is worth half."""
_MOST_USES = 4
"""More do not count: what was used often once must not outlive what is used now."""
_NOTHING = np.zeros(0, np.int32)


@dataclass(eq=False, slots=True)
class Holding:
    """The state after `tokens`, shape (n,); while live, after as many as `sequence` has read.

    `slot` is where it is, or `state` what a slot is filled from. `cuttable`: it serves for any
    shorter prefix from `floor` tokens on, too; otherwise for all of it, or for one of `marks`.
    `offered` is the length at which it was last given to the disk.
    """

    tokens: Tokens = field(repr=False)
    tier: CacheTier
    cuttable: bool
    slot: int | None = None
    state: Any = field(default=None, repr=False)
    sequence: Sequence | None = field(default=None, repr=False)
    kept_marks: tuple[int, ...] = ()
    kept_floor: int = 0
    uses: int = 0
    used: int = 0
    offered: int = 0

    @property
    def length(self) -> int:
        return len(self.tokens) if self.sequence is None else self.sequence.cached

    @property
    def tokens_held(self) -> Tokens:
        """The tokens in the state; those of an answer that is being written are among them."""
        if self.sequence is None:
            return self.tokens
        return self.sequence.array[: self.sequence.cached]

    @property
    def marks(self) -> tuple[int, ...]:
        return self.kept_marks if self.sequence is None else self.sequence.marks

    @property
    def floor(self) -> int:
        return self.kept_floor if self.sequence is None else self.sequence.floor

    def usable(self, common: int, multiple: int) -> int:
        """How much of a common prefix it can give; cut at a `multiple` where it can be cut."""
        if self.cuttable:
            length = min(common, self.length) // multiple * multiple
            if length >= self.floor:
                return length
        return max((n for n in (*self.marks, self.length) if n <= common), default=0)

    def value(self, now: int) -> float:
        """What it would cost to lose it: its length, by how often and how lately it was used."""
        uses = min(self.uses, _MOST_USES)
        return len(self.tokens) * (1 + uses) / (_FRESH + now - self.used)


@dataclass(frozen=True, slots=True)
class Found:
    """A holding, and how many tokens of the prompt it gives."""

    holding: Holding
    length: int


@dataclass(frozen=True, slots=True)
class Promise:
    """A running sequence that will have read so many tokens of the prompt soon."""

    sequence: Sequence
    length: int


@dataclass(slots=True)
class PrefixCache:
    """`slots` are those of the backend; each is empty, live, or kept.

    `truncate`: a slot can be cut back to any length. `multiple`: prefixes are cut to a multiple of
    so many tokens.
    """

    slots: Iterable[int]
    truncate: bool
    multiple: int = 1
    _tree: RadixTree[Holding] = field(default_factory=RadixTree)
    _empty: list[int] = field(init=False)
    _live: dict[Sequence, Holding] = field(default_factory=dict)
    _clock: int = 0

    def __post_init__(self) -> None:
        self._empty = list(self.slots)

    def holdings(self, tier: CacheTier) -> Iterator[Holding]:
        return (holding for holding in self._tree if holding.tier == tier)

    @property
    def has_empty(self) -> bool:
        """Whether a slot can be had without losing a kept prefix."""
        return bool(self._empty)

    @property
    def live_tokens(self) -> int:
        """What running sequences hold or will have read, those that they share once, and what they
        have written."""
        families: dict[object, list[Holding]] = {}
        written = 0
        for sequence, holding in self._live.items():
            families.setdefault(sequence.family, []).append(holding)
            written += len(sequence.tokens) - len(holding.tokens)
        return sum(map(self._tree.span, families.values())) + written

    def tokens_beside(self, slot: int | None = None) -> int:
        """What all slots hold, or all but one, if none shares anything."""
        kept = sum(holding.length for holding in self.holdings("kept"))
        return kept + sum(len(s.tokens) for s, h in self._live.items() if h.slot != slot)

    def find(self, tokens: Tokens, limit: int, room: int) -> Found | None:
        """The holding that gives most of `tokens`, at most `limit`.

        A copy must give a good deal more than what is in a slot, and have no more tokens than there
        is `room` for.
        """
        best: Found | None = None
        copy: Found | None = None
        for holding, common in self._tree.matches(tokens):
            length = holding.usable(min(common, limit), self.multiple)
            if not length:
                continue
            if holding.slot is not None:
                best = _better(Found(holding, length), best, "kept")
            elif holding.length <= room:
                copy = _better(Found(holding, length), copy, "host")
        if copy is not None:
            gain = copy.length - (best.length if best else 0)
            if gain >= max(_GAIN, copy.holding.length // _GAIN_SHARE):
                return copy
        return best

    def promise(self, tokens: Tokens, limit: int) -> Promise | None:
        """The running sequence that shares most with `tokens`, and has not read all of that yet."""
        for holding, common in self._tree.matches(tokens):
            length = min(common, limit) // self.multiple * self.multiple
            if holding.sequence is not None and holding.length < length:
                return Promise(holding.sequence, length)
        return None

    def begin(self, sequence: Sequence, slot: int, source: Holding | None) -> None:
        """A sequence runs in a slot that was taken, with the prefix of `source`; others may have
        what it reads."""
        leader = source.sequence if source is not None else None
        sequence.attach(slot, family=leader.family if leader is not None else object())
        uses = source.uses if source is not None and source.slot in (slot, None) else 0
        tokens = sequence.array if sequence.reuse else _NOTHING
        holding = Holding(tokens, "live", self.truncate, slot, sequence=sequence, uses=uses)
        self._live[sequence] = holding
        self._insert(holding)

    def end(self, sequence: Sequence, *, keep: bool) -> int | None:
        """It runs no more. Returns its slot if that is to be emptied, since it is not kept."""
        slot, holding = self.give_up(sequence)
        if not keep or holding is None:
            return slot
        self._empty.remove(slot)
        self._insert(holding)
        return None

    def give_up(self, sequence: Sequence) -> tuple[int, Holding | None]:
        """It runs no more, and its slot is to be emptied. Returns that, and what it held."""
        live = self._live.pop(sequence)
        self._tree.remove(live)
        slot = live.slot
        assert slot is not None
        self._empty.append(slot)
        if not sequence.cached or not sequence.reuse:
            return slot, None
        return slot, Holding(
            sequence.array[: sequence.cached],
            "kept",
            self.truncate,
            slot,
            kept_marks=sequence.marks,
            kept_floor=sequence.floor,
            uses=live.uses,
            offered=live.offered,
        )

    def add(self, holding: Holding) -> None:
        """A copy of a state, in memory or on disk."""
        self._insert(holding)

    def drop(self, holding: Holding) -> None:
        """Forget a holding, if it is still known. The slot of a kept one counts as empty, and is to
        be emptied."""
        if holding not in self._tree:
            return
        self._tree.remove(holding)
        if holding.tier == "kept" and holding.slot is not None:
            self._empty.append(holding.slot)

    def live(self, sequence: Sequence) -> Holding | None:
        """What a sequence holds, if it still runs."""
        return self._live.get(sequence)

    def sharing(self, tokens: Tokens) -> Iterator[tuple[Holding, int]]:
        """Who begins like `tokens`, and how much of it they share, most first."""
        return self._tree.matches(tokens)

    def use(self, holding: Holding) -> None:
        """It served a prompt."""
        self._clock += 1
        holding.uses += 1
        holding.used = self._clock

    def take_slot(self) -> tuple[int, Holding | None] | None:
        """A slot, empty or given up by the kept prefix that is worth least, and that prefix."""
        if self._empty:
            return self._empty.pop(), None
        least = self.least("kept")
        if least is None or least.slot is None:
            return None
        self._tree.remove(least)
        return least.slot, least

    def return_slot(self, slot: int) -> None:
        """Give back an empty slot that was taken."""
        self._empty.append(slot)

    def take(self, holding: Holding) -> None:
        """A kept prefix gives its slot to a sequence."""
        self._tree.remove(holding)

    def least(self, tier: CacheTier, *, sparing: Holding | None = None) -> Holding | None:
        """The holding of a tier that is worth least."""
        others = (holding for holding in self.by_value(tier) if holding is not sparing)
        return next(others, None)

    def by_value(self, tier: CacheTier) -> list[Holding]:
        """The holdings of a tier, those that are worth least first."""
        return sorted(self.holdings(tier), key=lambda holding: holding.value(self._clock))

    def covered(self, tokens: Tokens, tier: CacheTier) -> int:
        """How many of `tokens` a holding of that tier has, as it stands."""
        for holding, common in self._tree.matches(tokens):
            if holding.tier == tier and (holding.cuttable or holding.length <= common):
                return min(common, holding.length)
        return 0

    def _insert(self, holding: Holding) -> None:
        self._clock += 1
        holding.used = self._clock
        self._tree.insert(holding.tokens, holding)


def _better(one: Found, other: Found | None, nearer: CacheTier) -> Found:
    """The one that gives more; of two that give the same, the one in the nearer tier."""
    if other is None or one.length > other.length:
        return one
    same = one.length == other.length
    return one if same and one.holding.tier == nearer != other.holding.tier else other
