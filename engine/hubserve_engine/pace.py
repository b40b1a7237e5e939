"""How many prompt tokens a step may read, from how long they have taken so far."""

_FIRST = 8
"""Tokens that are read before anything is known."""
_MARGIN = 0.75
"""A step may turn out longer than was thought, and may read a little more than its budget."""
_COARSE = 32
"""Budgets beyond this are multiples of it."""
_LONGEST = 0.75
"""Seconds that a step of a tile may take."""
_OLD = 0.5
"""How much all steps before the last one count in what a token takes."""
_MEASURABLE = 8
"""Steps that read fewer tokens say too little of what each takes."""


class Pace:
    """Keeps steps under a length, in seconds: `alone` when nobody writes, else `beside`.

    A cancelled request must stop within 1 s. Nothing is known before the first step, which also
    reads weights from the disk, so it is a short one. What a token takes is learned apart for steps
    of a `tile` (see `Capabilities`) and more, and for smaller ones: else who reads in small steps,
    which are slow, would go on in small steps.
    """

    def __init__(self, *, beside: float, alone: float = 0.5, tile: int = 1) -> None:
        self._tile = tile
        self._alone = alone
        self._beside = beside
        self._small: float | None = None
        self._large: float | None = None

    def budget(self, *, writing: bool) -> int:
        """Prompt tokens for the next step; 0 where even one takes too long."""
        if self._small is None and self._large is None:
            return _FIRST
        large = self._large or self._small or 0.0
        target = _MARGIN * self._beside if writing else self._alone
        tokens = int(target / large)
        if tokens < self._tile:
            if not writing and self._tile * large <= _LONGEST:
                return self._tile
            tokens = int(target / (self._small or large))
        # Few different sizes: llama.cpp reuses the graph of the step before if it has the same.
        return tokens // _COARSE * _COARSE if tokens > _COARSE else tokens

    def observe(self, prompt_tokens: int, seconds: float) -> None:
        """A step that read `prompt_tokens` took `seconds`."""
        if prompt_tokens < _MEASURABLE or seconds <= 0:
            return
        now = seconds / prompt_tokens
        if prompt_tokens >= self._tile:
            self._large = _mixed(self._large, now)
            return
        self._small = _mixed(self._small, now)
        if self._large is not None:
            self._large = min(self._large, self._small)  # more at once never takes longer for each


def _mixed(old: float | None, now: float) -> float:
    return now if old is None else _OLD * old + (1 - _OLD) * now
