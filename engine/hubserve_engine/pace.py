"""How many prompt tokens a step may read, from how long they have taken so far."""

_FIRST = 8
_MARGIN = 0.75
"""A step may turn out longer than was thought, and may read a little more than its budget."""
_COARSE = 32
_OLD = 0.5
_MEASURABLE = 8


class Pace:
    """Keeps steps under a length, in seconds: `alone` when nobody writes, else `beside`.

    A cancelled request must stop within 1 s. Nothing is known before the first step, which also
    reads weights from the disk, so it is a short one.
    """

    def __init__(self, *, beside: float, alone: float = 0.5) -> None:
        self._alone = alone
        self._beside = beside
        self._seconds_per_token: float | None = None

    def budget(self, *, writing: bool) -> int:
        """Prompt tokens for the next step; 0 where even one takes too long."""
        if self._seconds_per_token is None:
            return _FIRST
        target = _MARGIN * self._beside if writing else self._alone
        tokens = int(target / self._seconds_per_token)
        # Few different sizes: llama.cpp reuses the graph of the step before if it has the same.
        return tokens // _COARSE * _COARSE if tokens > _COARSE else tokens

    def observe(self, prompt_tokens: int, seconds: float) -> None:
        """A step that read `prompt_tokens` took `seconds`."""
        if prompt_tokens < _MEASURABLE or seconds <= 0:
            return
        now = seconds / prompt_tokens
        old = self._seconds_per_token
        self._seconds_per_token = now if old is None else _OLD * old + (1 - _OLD) * now
