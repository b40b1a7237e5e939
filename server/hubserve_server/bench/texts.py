"""What is asked: ordinary text, new in each run, so that no server has read it before."""

import random
from collections.abc import Iterator
from itertools import islice

PEOPLE = (
    "the keeper",
    "an old sailor",
    "my neighbour",
    "the young doctor",
    "a travelling painter",
    "the baker's daughter",
    "our teacher",
    "a retired engineer",
    "the librarian",
    "a quiet child",
)
DEEDS = (
    "carried",
    "repaired",
    "painted",
    "lost",
    "found",
    "described",
    "borrowed",
    "measured",
    "remembered",
    "hid",
    "sold",
    "polished",
)
THINGS = (
    "a brass lamp",
    "the broken clock",
    "a bundle of letters",
    "three wooden boats",
    "an unfinished map",
    "the green bicycle",
    "a box of seeds",
    "the heavy telescope",
    "a jar of honey",
    "the torn sail",
    "a silver whistle",
    "the garden gate",
)
PLACES = (
    "near the harbour",
    "behind the station",
    "on the long bridge",
    "in the empty market",
    "under the lighthouse",
    "at the edge of the forest",
    "by the frozen lake",
    "in a small kitchen",
    "above the bakery",
    "across the valley",
)
TIMES = (
    "Early in the morning",
    "Late that evening",
    "After the storm",
    "Before the first snow",
    "During the summer fair",
    "One quiet Sunday",
    "While the others slept",
    "At the end of the war",
)
REASONS = (
    "because nobody else would",
    "although it had rained for days",
    "and told no one",
    "while the bells were ringing",
    "as the letter had asked",
    "before the ferry came back",
    "and was thanked many years later",
    "without a word to the others",
)

COPY = "Repeat this Python file word for word, and change nothing. Answer with the code alone."
"""An edit task: the answer is in the prompt."""


class Texts:
    """All texts of one run; `seed` makes them what they are."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def _one(self, choices: tuple[str, ...]) -> str:
        return self._random.choice(choices)

    def _sentences(self) -> Iterator[str]:
        while True:
            yield (
                f"{self._one(TIMES)}, {self._one(PEOPLE)} {self._one(DEEDS)} {self._one(THINGS)}"
                f" {self._one(PLACES)} {self._one(REASONS)}."
            )

    def story(self, words: int) -> str:
        """About so many words, in sentences; ten tokens are about nine words."""
        told: list[str] = []
        count = 0
        for sentence in self._sentences():
            told.append(sentence)
            count += len(sentence.split())
            if count >= words:
                break
        return " ".join(told)

    def question(self) -> str:
        """A short one, which takes a long answer."""
        return (
            f"Write a long story about {self._one(PEOPLE)} who {self._one(DEEDS)}"
            f" {self._one(THINGS)} {self._one(PLACES)} {self._one(REASONS)}."
        )

    def reading(self, words: int) -> str:
        """A long text, and something to do with it."""
        return f"{self.story(words)}\n\nGo on with this text in the same style."

    def functions(self, count: int) -> str:
        """A Python file of so many small functions, each its own."""
        numbers = self._random.sample(range(100, 1000), 2 * count)
        pairs = islice(zip(numbers[::2], numbers[1::2], strict=True), count)
        return "\n\n".join(
            f"def step_{name}(value):\n    return value * {factor} + {name}"
            for name, factor in pairs
        )
