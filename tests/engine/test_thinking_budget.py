"""Thinking ends at its budget, and an answer always has room. A token here is a byte."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.choosing import Guide
from hubserve_engine.profiles.families import FAMILIES
from hubserve_engine.thinking_budget import (
    SENTENCE,
    Closing,
    ThinkingBudget,
    allowance,
    closing,
)

THINK = next(family.profile for family in FAMILIES if family.profile.name == "think")
HARMONY = next(family.profile for family in FAMILIES if family.profile.name == "harmony")
TAGS = ("<think>", "</think>")
TAG = list(b"</think>")


def tokenize(text: str) -> list[int]:
    return list(text.encode())


def guide(budget: int, *, thinking_open: bool = True, then: Guide | None = None) -> ThinkingBudget:
    return ThinkingBudget(
        ChannelSplitter(TAGS, thinking_open=thinking_open),
        budget,
        Closing((*b".", *TAG), tuple(TAG)),
        piece=lambda token: bytes([token]),
        vocabulary=256,
        ends=b"#",
        then=then,
    )


def written(budget: ThinkingBudget, model: str) -> str:
    """What stands there in the end, where the model wants to write `model`."""
    out = bytearray()

    def take(token: int) -> None:
        out.append(token)
        budget.accept(token)

    for token in model.encode():
        mask = budget.mask()
        if mask is not None:  # where nothing has been forced yet, the mask says it
            (token,) = [t for t in range(256) if mask[t // 8] >> t % 8 & 1]
        take(token)
        for coming in budget.forced():
            take(coming)
    return out.decode()


def test_thinking_is_closed_at_its_budget_and_the_answer_follows() -> None:
    assert written(guide(3), "abcYes.") == "abc.</think>Yes."


def test_thinking_that_ends_before_is_left_alone() -> None:
    text = "ab</think>A long answer."
    assert written(guide(20), text) == text


def test_a_model_that_ends_in_its_thinking_is_led_to_its_answer() -> None:
    held = guide(20)
    assert written(held, "ab#Yes.") == "ab#.</think>Yes."
    held.accept(ord("#"))
    assert held.forced() == []
    assert written(guide(20), "a</think>b#").endswith("b#")


def test_thinking_that_was_closed_is_not_opened_again_before_the_answer() -> None:
    held = ThinkingBudget(
        ChannelSplitter(("<", "</think>"), thinking_open=True),
        1,
        Closing(tuple(TAG), tuple(TAG), ord("<")),
        piece=lambda token: bytes([token]),
        vocabulary=256,
    )

    def may_open() -> bool:
        mask = held.mask()
        return mask is None or bool(mask[ord("<") // 8] >> ord("<") % 8 & 1)

    assert may_open()
    held.accept(ord("a"))
    for token in held.forced():
        held.accept(token)
    for token in (None, *b"\n "):
        if token is not None:
            held.accept(token)
        mask = held.mask()
        assert not may_open() and mask is not None and sum(map(int.bit_count, mask)) == 255
    assert held.fitting(list(b"\nx<y")) == 2
    held.accept(ord("Y"))
    assert held.mask() is None and held.fitting(list(b"x<y")) == 3


def test_a_budget_of_nothing_closes_it_at_once() -> None:
    assert written(guide(0), "xYes.").startswith(".</think>")


def test_thinking_that_the_model_opens_counts_from_there() -> None:
    assert written(guide(2, thinking_open=False), "<think>abYes.") == "<think>ab.</think>Yes."
    assert written(guide(2, thinking_open=False), "Yes, <think>.") == "Yes, <think>."


def test_a_model_that_thinks_again_is_closed_again_without_the_sentence() -> None:
    assert written(guide(1), "a<think>bYes.") == "a.</think><think></think>bYes."


def test_guesses_end_where_the_budget_does() -> None:
    budget = guide(3)
    assert budget.fitting(tokenize("abcd")) == 3
    budget.accept(ord("a"))
    assert budget.fitting(tokenize("bcd")) == 2
    for token in b"bc":
        budget.accept(token)
    assert budget.fitting(tokenize(".</x")) == 3
    assert budget.fitting(tokenize("x")) == 0
    for token in budget.forced():
        budget.accept(token)
    assert budget.fitting(tokenize("as many as there are")) == 20


class Digits:
    """A guide of an answer of two digits, which has the thinking before it accepted, too."""

    closed = False
    error = None

    def __init__(self) -> None:
        self.seen = bytearray()

    @property
    def _answer(self) -> bytes | None:
        _, closed, answer = bytes(self.seen).partition(b"</think>")
        return answer if closed else None

    def mask(self) -> bytes | None:
        if self._answer is None:
            return None
        return bytes(6) + bytes([0xFF, 0x03]) + bytes(24)  # "0" to "9"

    def accept(self, token: int) -> None:
        self.seen.append(token)

    def forced(self) -> list[int]:
        return []

    def fitting(self, tokens: Sequence[int]) -> int:
        return len(tokens) if self._answer is None else 0

    @property
    def done(self) -> bool:
        return len(self._answer or b"") == 2


def test_what_holds_the_answer_sees_all_and_takes_over_behind_the_thinking() -> None:
    digits = Digits()
    budget = guide(3, then=digits)
    assert budget.mask() is None
    for token in b"abc":
        budget.accept(token)
    assert budget.mask() != digits.mask()
    for token in budget.forced():
        budget.accept(token)
    assert bytes(digits.seen) == b"abc.</think>"
    assert (budget.mask(), budget.fitting(b"12"), budget.done) == (digits.mask(), 0, False)
    budget.accept(ord("1"))
    budget.accept(ord("2"))
    assert budget.done and budget.error is None


def test_the_sentence_is_left_out_where_it_would_take_much_of_the_room() -> None:
    long = SENTENCE + TAGS[1]
    assert bytes(closing(THINK, tokenize, 4 * len(long)).first).decode() == long
    assert bytes(closing(THINK, tokenize, 4 * len(long) - 1).first) == b"</think>"


def test_a_model_of_channels_is_led_to_its_answer_the_second_time() -> None:
    found = closing(HARMONY, tokenize, 10_000)
    assert bytes(found.first).endswith(b"<|end|>")
    assert bytes(found.again) == b"<|end|><|start|>assistant<|channel|>final<|message|>"


@given(st.integers(-1, 100_000), st.integers(0, 200_000))
def test_an_answer_always_has_room(asked: int, room: int) -> None:
    used = Closing(tuple(range(3)), ())
    thinking = allowance(asked, room, used)
    assert thinking >= 0
    assert asked < 0 or thinking <= asked
    if room > 3:
        assert room - thinking - 3 >= max(4, min(room // 4, 4096)) or thinking == 0
        assert room - thinking - 3 >= 1


@pytest.mark.parametrize(
    ("asked", "room", "thinking"),
    [(-1, 1000, 747), (100, 1000, 100), (5000, 1000, 747), (-1, 40_000, 35_901), (-1, 4, 0)],
)
def test_how_much_that_is(asked: int, room: int, thinking: int) -> None:
    assert allowance(asked, room, Closing((1, 2, 3), ())) == thinking


def test_no_character_is_cut_in_half() -> None:
    """A grammar would not take what follows then."""
    splitter = ChannelSplitter(("<think>", "</think>"), thinking_open=True)
    ends = Closing((1000,), (1001,))
    pieces = {1: "é".encode()[:1], 2: "é".encode()[1:], 3: b"x", 1000: b"</think>"}
    guide = ThinkingBudget(splitter, 2, ends, piece=pieces.__getitem__, vocabulary=1002)
    for token in (3, 1):
        guide.accept(token)
        assert guide.forced() == []
    assert guide.fitting([2, 2]) == 0
    guide.accept(2)
    assert guide.forced() == [1000]
