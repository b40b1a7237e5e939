"""Copies of states in host memory: those that lost their slots, within a limit."""

from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.radix_tree import Tokens

_SERVED = 64
"""Fewer tokens that a copy has alone are no reason to hold it."""


class HostMemory:
    """At most `limit` bytes of copies. `cuttable`: a slot filled from one can be cut back."""

    def __init__(self, cache: PrefixCache, *, limit: int, cuttable: bool) -> None:
        self._cache = cache
        self._limit = limit
        self._cuttable = cuttable

    @property
    def room(self) -> int:
        """Bytes that can be had without forgetting a copy."""
        return self._limit - sum(len(copy.state) for copy in self._cache.holdings("host"))

    def takes(self, size: int) -> bool:
        """Whether a copy of so many bytes can be had at all."""
        return size <= self._limit

    def add(self, tokens: Tokens, state: bytes, *, uses: int) -> None:
        """Hold a copy. Those that are worth least are forgotten until all fits, but first those
        that this one serves for, too: earlier states of its conversation."""
        if self._cuttable:
            for other, common in list(self._cache.sharing(tokens)):
                if other.tier == "host" and len(other.tokens) - common < _SERVED:
                    self._cache.drop(other)
        copy = Holding(tokens, "host", self._cuttable, state=state, uses=uses)
        self._cache.add(copy)
        while self.room < 0:
            least = self._cache.least("host", sparing=copy)
            if least is None:
                return
            self._cache.drop(least)
