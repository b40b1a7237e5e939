"""A grammar's state in one sequence, as a `choosing.Guide`."""

from collections.abc import Sequence

from llguidance import LLMatcher


class GrammarGuide:
    """Follows a matcher, which is its own.

    llguidance allows the end of the answer once something has gone wrong; here nothing may come
    then, so that no half answer passes for a whole one.
    """

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher
        self.error: str | None = None

    def mask(self) -> bytes:
        mask = self._matcher.compute_bitmask()
        return bytes(len(mask)) if self._failed() else mask

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)
        self._failed()

    def forced(self) -> list[int]:
        tokens = [] if self.error is not None else self._matcher.compute_ff_tokens()
        return [] if self._failed() else tokens

    def fitting(self, tokens: Sequence[int]) -> int:
        return 0 if self.error is not None else self._matcher.validate_tokens(list(tokens))

    @property
    def done(self) -> bool:
        return self.error is None and self._matcher.is_stopped() and not self._failed()

    def _failed(self) -> bool:
        if self.error is None and self._matcher.is_error():
            reason = self._matcher.get_error().splitlines()[0]
            self.error = f"The constraint of this answer became too complex, or failed: {reason}"
        return self.error is not None
