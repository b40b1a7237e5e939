"""Which marks a slot keeps: lengths to which a state without a past can be cut back."""

from collections.abc import Iterable

_NEWEST = 3


def lasting(marks: Iterable[int]) -> list[int]:
    """The first, behind which others may go on, and the newest three. Each is as large as the
    recurrent state, and a chat makes one with every turn."""
    ordered = sorted(marks)
    return ordered if len(ordered) <= 1 + _NEWEST else [ordered[0], *ordered[-_NEWEST:]]
