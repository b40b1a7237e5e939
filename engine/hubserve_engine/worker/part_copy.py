"""A copy of a state that is made a part at a time, between steps, while its sequence goes on."""

from hubserve_engine.backends.base import Backend
from hubserve_engine.prefix_cache import Holding
from hubserve_engine.radix_tree import Tokens


class PartCopy:
    """Of what a live `holding` has now; `state` grows until it is `complete`."""

    def __init__(self, backend: Backend, holding: Holding) -> None:
        assert holding.slot is not None
        self._backend = backend
        self._slot = holding.slot
        self._copied = 0
        self.holding = holding
        self.tokens: Tokens = holding.tokens_held
        self.state = bytearray()

    @property
    def complete(self) -> bool:
        return self._copied == len(self.tokens)

    def add(self, count: int) -> bool:
        """Copy so many tokens more. False: that is not possible with this state."""
        last = min(self._copied + count, len(self.tokens))
        try:
            part = self._backend.save_part(self._slot, self._copied, last)
            if part is None:
                return False
            self.state += part
        except MemoryError:
            return False
        self._copied = last
        return True
