"""Stop strings in streamed text: found over any chunking, held back, never leaked."""

from collections.abc import Sequence


def partial_suffix(text: str, patterns: Sequence[str]) -> int:
    """Length of the longest end of `text` that may still grow into one of `patterns`.

    Only proper beginnings count: a pattern that is complete is not a partial one.
    """
    longest = 0
    for pattern in patterns:
        at = text.find(pattern[0], max(0, len(text) - len(pattern) + 1))
        while at != -1 and not pattern.startswith(text[at:]):
            at = text.find(pattern[0], at + 1)
        if at != -1:
            longest = max(longest, len(text) - at)
    return longest


class StopMatcher:
    """Cuts the text of one sequence before its stop string.

    The first stop string to be complete wins; of several that end at the same character, the
    longest. So the result does not depend on how the text is cut into chunks. No stop string may
    be empty.
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self.matched: str | None = None
        self._stops = stops
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that is safe to send now; empty from the match on.

        Looks at `text` and at what was held back, which is shorter than the longest stop string.
        """
        if self.matched is not None:
            return ""
        text = self._held + text
        found = [
            (at + len(stop), at, stop) for stop in self._stops if (at := text.find(stop)) != -1
        ]
        if found:
            _, start, self.matched = min(found)
            self._held = ""
            return text[:start]
        safe = len(text) - partial_suffix(text, self._stops)
        self._held = text[safe:]
        return text[:safe]

    def finish(self) -> str:
        """What was held back, for a sequence that ended without a stop string."""
        held, self._held = self._held, ""
        return held
