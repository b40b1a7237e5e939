"""A grammar's state in one sequence, as a `choosing.Guide`."""

from collections.abc import Sequence

from hubserve_engine.constraints.digits import MOST, Digits
from hubserve_engine.constraints.library import Matcher


class GrammarGuide:
    """Follows a matcher, which is its own.

    llguidance allows the end of the answer once something has gone wrong; here nothing may come
    then, so that no half answer passes for a whole one. With `digits` its numbers come to an end.
    """

    def __init__(self, matcher: Matcher, digits: Digits | None = None) -> None:
        self._matcher = matcher
        self._digits = digits
        self._row = 0
        self.error: str | None = None

    def mask(self) -> bytes:
        mask = self._matcher.mask()
        if self._failed():
            return bytes(len(mask))
        if self._digits is not None and self._row >= MOST:
            return self._digits.without(mask)
        return mask

    def accept(self, token: int) -> None:
        if self._digits is not None:
            self._row = self._digits.row(self._row, token)
        self._matcher.consume(token)
        self._failed()

    def forced(self) -> list[int]:
        tokens = [] if self.error is not None else self._matcher.forced()
        return [] if self._failed() else tokens

    def fitting(self, tokens: Sequence[int]) -> int:
        return 0 if self.error is not None else self._matcher.fitting(tokens)

    @property
    def done(self) -> bool:
        return self.error is None and self._matcher.stopped and not self._failed()

    def _failed(self) -> bool:
        if self.error is None and (error := self._matcher.error) is not None:
            reason = error.splitlines()[0]
            self.error = f"The constraint of this answer became too complex, or failed: {reason}"
        return self.error is not None
