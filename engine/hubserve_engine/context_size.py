"""How long the context can be: what was asked for, or what the model and the free memory allow."""

from typing import Protocol

from hubserve_engine.units import size_text

USUAL_CONTEXT = 32768
"""Enough for agents, and a state that most machines can hold."""
_SMALLEST_CONTEXT = 512
_STEP = 256
"""llama.cpp rounds the context up to a multiple of this."""
_PERCENT = 90
"""So much of the free memory goes to a context that is asked for: the estimate may be a little low,
and what else runs needs some."""


class Need(Protocol):
    """What a model takes: `weights` and, for a context of so many tokens, `bytes` beside them.
    `trained` is the length that it was trained on, in tokens, 0 where nobody says."""

    @property
    def weights(self) -> int: ...

    @property
    def trained(self) -> int: ...

    def bytes(self, context: int) -> int: ...


def fitting(need: Need, free: int, asked: int | None) -> tuple[int, str]:
    """The context in tokens, and in words what limited it. `free` is the memory in bytes, of which
    the weights will take their part; `asked` None leaves the choice to us."""
    left = free - need.weights
    if asked is not None:
        return _asked_for(need, left, asked)
    trained = need.trained
    usual, words = USUAL_CONTEXT, "32768 by default"
    if 0 < trained <= usual:
        usual, words = trained, "trained length"
    half = left // 2
    if need.bytes(_round_up(usual)) <= half:
        return _round_up(usual), words
    longest = _last_fitting(need, _round_up(usual), half)
    return longest, f"half of the free memory ({size_text(max(left, 0))})"


def _asked_for(need: Need, left: int, asked: int) -> tuple[int, str]:
    wanted = _round_up(asked)
    room, words = left * _PERCENT // 100, f"{_PERCENT} % of the free memory ({size_text(left)})"
    if left < 0:
        # The weights are read from the disk piece by piece, and leave memory when others need it.
        whole = left + need.weights
        room, words = whole // 2, f"half of the free memory ({size_text(whole)})"
    if need.bytes(wanted) > room:
        return _last_fitting(need, wanted, room), words
    if wanted != asked:
        return wanted, f"--ctx-size {asked}, rounded up to a multiple of {_STEP}"
    return wanted, "--ctx-size"


def _last_fitting(need: Need, most: int, room: int) -> int:
    """The largest context up to `most` whose need fits, or the smallest that makes sense."""
    contexts = range(_SMALLEST_CONTEXT, most + 1, _STEP)
    low, high = 0, len(contexts)
    while low < high:
        middle = (low + high) // 2
        if need.bytes(contexts[middle]) <= room:
            low = middle + 1
        else:
            high = middle
    return contexts[low - 1] if low else min(_SMALLEST_CONTEXT, most)


def notices(need: Need, free: int, asked: int | None, context: int) -> list[str]:
    """What is to be said of a context that was asked for, where it is not what it should be."""
    found = []
    if asked is not None and 0 < need.trained < min(asked, context):
        found.append(
            f"--ctx-size {asked} is more than the {need.trained} tokens that the model was"
            " trained on; answers may get worse beyond them."
        )
    if asked is not None and context < asked:
        whole = need.weights + need.bytes(_round_up(asked))
        found.append(
            f"--ctx-size {asked} needs about {size_text(whole)} in all, and {size_text(free)} is"
            f" free: the context is made smaller, {context} tokens."
        )
    return found


def _round_up(context: int) -> int:
    return max(context + -context % _STEP, _STEP)
