"""A grammar's state in one sequence, as a `choosing.Guide`."""

from collections.abc import Sequence

from hubserve_engine.choosing import only
from hubserve_engine.constraints.closing import Closing
from hubserve_engine.constraints.digits import MOST, Digits
from hubserve_engine.constraints.library import Matcher


class GrammarGuide:
    """Follows a matcher, which is its own.

    llguidance allows the end of the answer once something has gone wrong; here nothing may come
    then, so that no half answer passes for a whole one. With `digits` its numbers come to an end,
    and with `closing` the answer does, if it can.
    """

    def __init__(
        self, matcher: Matcher, digits: Digits | None = None, closing: Closing | None = None
    ) -> None:
        self._matcher = matcher
        self._digits = digits
        self._row = 0
        self._closing = closing
        self.error: str | None = None

    def mask(self) -> bytes:
        mask = self._matcher.mask()
        if self._failed():
            return bytes(len(mask))
        if self._coming:
            return only(self._coming[0], 8 * len(mask))
        if self._digits is not None and self._row >= MOST:
            mask = self._digits.without(mask)
        return self._closing.narrowed(mask) if self._closing is not None else mask

    def accept(self, token: int) -> None:
        if self._digits is not None:
            self._row = self._digits.row(self._row, token)
        self._matcher.consume(token)
        if not self._failed() and self._closing is not None:
            self._closing.accept(token, self._matcher)

    def forced(self) -> list[int]:
        if self._coming:
            return list(self._coming)
        tokens = [] if self.error is not None else self._matcher.forced()
        return [] if self._failed() else tokens

    def fitting(self, tokens: Sequence[int]) -> int:
        if self._coming:
            return 0
        return 0 if self.error is not None else self._matcher.fitting(tokens)

    @property
    def done(self) -> bool:
        if self.closed:
            return not self._coming
        return self.error is None and self._matcher.stopped and not self._failed()

    @property
    def closed(self) -> bool:
        return self._closing is not None and self._closing.begun

    @property
    def _coming(self) -> list[int]:
        return self._closing.coming if self._closing is not None else []

    def _failed(self) -> bool:
        if self.error is None and (error := self._matcher.error) is not None:
            reason = error.splitlines()[0]
            self.error = f"The constraint of this answer became too complex, or failed: {reason}"
        return self.error is not None
