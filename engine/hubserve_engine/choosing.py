"""What chooses the tokens of one sequence: its sampler, and the guide that says which may come."""

from collections.abc import Sequence
from typing import Protocol


class Sampler(Protocol):
    """The sampling state of one sequence: its random numbers and what it counts for penalties.

    It belongs to the sequence, not to a backend's slot, so a preempted sequence goes on as if
    nothing had been.
    """

    def accept(self, token: int) -> None:
        """Count a token that was written without being sampled."""
        ...

    def close(self) -> None: ...


class Guide(Protocol):
    """Which tokens may come next in one sequence. It belongs to the sequence, as the sampler does.

    A backend's `collect` asks for the `mask` before it samples a token, and has each token that it
    chose `accept`ed: those are the sequence's own, whatever was guessed. After each step the worker
    asks what is `forced`, writes that without asking the model, and has it accepted too; the next
    step reads it in one go. So after every step the guide has seen all that the sequence has
    written. What must come first of all is said by the mask. Where something is forced after a
    token that ends an answer, that comes in its place.
    """

    def mask(self) -> bytes | None:
        """A bit for each token of the vocabulary, the lowest of each byte first, and zeros up to
        whole words of 32: those that are set may come next. None: every token may.

        A mask without any means that something is wrong, which ends the request with an error.
        """
        ...

    def accept(self, token: int) -> None:
        """It was written."""
        ...

    def forced(self) -> list[int]:
        """Tokens that must come next, in their order; none where there is a choice."""
        ...

    def fitting(self, tokens: Sequence[int]) -> int:
        """How many of these guesses may come next, one after the other. Nothing is accepted."""
        ...

    @property
    def done(self) -> bool:
        """Nothing may come any more, so the answer ends here."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the answer is brought to its end at its limit, so that it is whole."""
        ...

    @property
    def error(self) -> str | None:
        """What went wrong, as a sentence."""
        ...


def only(token: int, vocabulary: int) -> bytes:
    """A mask that leaves one token of so many."""
    bits = bytearray((vocabulary + 31) // 32 * 4)
    bits[token // 8] = 1 << token % 8
    return bytes(bits)


def without(mask: bytes, barred: int) -> bytes:
    """A mask but for the tokens whose bits are `barred`; as it is where there are no others."""
    bits = int.from_bytes(mask, "little")
    return (bits & ~barred or bits).to_bytes(len(mask), "little")
