"""How long a model may think before it has to answer.

At its budget, or where a character ends that is being written then, the thinking is closed: a
sentence and the closing tag are written for the model, and it goes on from there. So it is where
the model would end its answer while it thinks. Whatever the budget, a part of what may be written
is left for the answer.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.choosing import Guide, only, without
from hubserve_engine.detokenize import Detokenizer
from hubserve_engine.profiles import Profile

SENTENCE = "\n\nThat is enough thinking; what follows is the answer.\n"
ANSWER_SHARE = 4
"""One token of so many is left for the answer ..."""
ANSWER_MOST = 4096
"""... but no more than these ..."""
ANSWER_LEAST = 4
"""... and no fewer than these: the first ones may be empty lines."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Tokens that end thinking: the first time, and again if the model only thinks on then.

    `opening` is the token that would begin it once more, if it is one."""

    first: tuple[int, ...]
    again: tuple[int, ...]
    opening: int | None = None


def closing(profile: Profile, tokenize: Callable[[str], list[int]], room: int) -> Closing:
    """For a profile with thinking tags, where `room` tokens may be written in all: the sentence is
    left out if it would take much of that."""
    assert profile.thinking_tags
    start, tag = profile.thinking_tags
    opening = tokenize(start)
    long, short = tokenize(SENTENCE + tag), tokenize(tag)
    first = long if len(long) * ANSWER_SHARE <= room else short
    again = tokenize(tag + profile.answer_lead)
    return Closing(tuple(first), tuple(again), opening[0] if len(opening) == 1 else None)


def allowance(asked: int, room: int, closing: Closing) -> int:
    """Tokens of thinking, where `asked` are wanted (-1: as many as there can be) and `room` may be
    written in all, with the closing and the answer."""
    answer = max(ANSWER_LEAST, min(room // ANSWER_SHARE, ANSWER_MOST))
    most = max(0, room - answer - len(closing.first))
    return most if asked < 0 else min(asked, most)


class ThinkingBudget:
    """A guide that lets `budget` tokens of thinking pass, and else says what `then` says.

    `splitter` is one like the answer's, `piece` gives the bytes of a token, `vocabulary` is how
    many tokens there are, and `ends` are those that end an answer.
    """

    def __init__(
        self,
        splitter: ChannelSplitter,
        budget: int,
        closing: Closing,
        *,
        piece: Callable[[int], bytes],
        vocabulary: int,
        ends: Collection[int] = (),
        then: Guide | None = None,
    ) -> None:
        self._splitter = splitter
        self._detokenizer = Detokenizer()
        self._left = budget
        self._closing = closing
        self._closed = False
        self._barred: int | None = None
        self._coming: list[int] = []
        self._piece = piece
        self._vocabulary = vocabulary
        self._ends = ends
        self._then = then
        self._close_if_spent()

    def mask(self) -> bytes | None:
        if self._coming:
            return only(self._coming[0], self._vocabulary)
        mask = self._then.mask() if self._then else None
        if self._barred is None:
            return mask
        if mask is None:
            size = (self._vocabulary + 31) // 32 * 4
            mask = ((1 << self._vocabulary) - 1).to_bytes(size, "little")
        return without(mask, 1 << self._barred)

    def accept(self, token: int) -> None:
        if token in self._ends and self._thinking and not self._coming:
            self._close()  # in its place
            return
        if self._coming:
            del self._coming[0]
        elif self._thinking:
            self._left -= 1
        segments = self._splitter.feed(self._detokenizer.feed(self._piece(token)))
        if any(channel == "content" and text.strip() for channel, text in segments):
            self._barred = None  # an answer may speak of it
        if self._then:
            self._then.accept(token)
        self._close_if_spent()

    def forced(self) -> list[int]:
        if self._coming:
            return list(self._coming)
        return self._then.forced() if self._then else []

    def fitting(self, tokens: Sequence[int]) -> int:
        if self._coming:
            pairs = enumerate(zip(tokens, self._coming, strict=False))
            most = min(len(tokens), len(self._coming))
            return next((count for count, (one, other) in pairs if one != other), most)
        if self._barred is not None and self._barred in tokens:
            tokens = tokens[: tokens.index(self._barred)]
        count = self._then.fitting(tokens) if self._then else len(tokens)
        return min(count, max(self._left, 0)) if self._thinking else count

    @property
    def done(self) -> bool:
        return not self._coming and self._then is not None and self._then.done

    @property
    def closed(self) -> bool:
        return self._then is not None and self._then.closed

    @property
    def error(self) -> str | None:
        return self._then.error if self._then else None

    @property
    def _thinking(self) -> bool:
        return self._splitter.channel == "reasoning"

    def _close_if_spent(self) -> None:
        if self._thinking and self._left <= 0 and not self._coming and not self._detokenizer.torn:
            self._close()

    def _close(self) -> None:
        self._coming = list(self._closing.again if self._closed else self._closing.first)
        self._closed = True
        self._barred = self._closing.opening
