"""Guesses: the longest match there is, the latest of those, and what they turn out to be worth."""

import random

from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.lookup import LONGEST, SHORTEST, Guess, Lookup

few = st.lists(st.integers(0, 2), max_size=60)


def matching(tokens: list[int], place: int) -> int:
    """How many tokens before `place` are the last ones, at most `LONGEST`."""
    length = 0
    while length < min(LONGEST, place) and tokens[place - 1 - length] == tokens[-1 - length]:
        length += 1
    return length


def continued(tokens: list[int], place: int, most: int) -> list[int]:
    period = len(tokens) - place
    return [tokens[place + i % period] for i in range(most)]


@given(few, st.integers(1, 20))
def test_the_latest_of_the_longest_matches_says_what_comes(tokens: list[int], most: int) -> None:
    lengths = [(matching(tokens, place), place) for place in range(SHORTEST, len(tokens))]
    length, place = max(lengths, default=(0, 0))
    guess = Lookup(tokens).guess(most)
    if length < SHORTEST:
        assert guess is None
    else:
        assert guess is not None
        assert guess.tokens == continued(tokens, place, most)
        assert len(guess.chances) == most
        assert all(0 < chance < 1 for chance in guess.chances)


@given(few, few, st.integers(1, 5))
def test_a_sequence_may_grow_in_any_steps(before: list[int], after: list[int], step: int) -> None:
    tokens = list(before)
    lookup = Lookup(tokens)
    for i in range(0, len(after), step):
        guess = lookup.guess(4)
        longest = max((matching(tokens, p) for p in range(SHORTEST, len(tokens))), default=0)
        if longest < SHORTEST:
            assert guess is None
        else:
            assert guess is not None
            assert any(
                guess.tokens == continued(tokens, place, 4)
                for place in range(SHORTEST, len(tokens))
                if matching(tokens, place) == longest
            )
        tokens += after[i : i + step]


def test_a_copy_is_followed_where_it_goes_on() -> None:
    """The same twelve tokens stand in two places; what is being copied is the first."""
    common = list(range(100, 112))
    tokens = [1, 2, 3, 4, *common, 5, 6, 7, 8, *common, 9, 9, 1, 2, 3]
    lookup = Lookup(tokens)
    for token in (4, *common, 5, 6):
        guess = lookup.guess(3)
        assert guess is not None and guess.tokens[0] == token
        tokens.append(token)


def test_a_long_prompt_is_taken_in_over_several_steps() -> None:
    numbers = random.Random(1)
    tokens = [numbers.randrange(50_000) for _ in range(5000)]
    tokens += tokens[10:20]
    lookup = Lookup(tokens)
    guesses = [lookup.guess(4) for _ in range(5)]
    assert guesses[:4] == [None] * 4
    assert guesses[4] is not None and guesses[4].tokens == tokens[20:24]


def chances(lookup: Lookup) -> list[float]:
    guess = lookup.guess(10)
    assert isinstance(guess, Guess)
    return guess.chances


def test_what_was_right_is_trusted_and_what_was_wrong_is_not() -> None:
    text = list(range(1000))
    tokens = [*text, 0, 1, 2]
    lookup = Lookup(tokens)
    first = chances(lookup)
    assert first == sorted(first), "the longer the match, the surer"
    for token in range(3, 60):
        tokens.append(token)
        copying = chances(lookup)
    assert copying[0] > 0.97 > first[-1]
    for start in range(100, 900, 20):  # matches, and then always something else
        tokens += text[start : start + 14]
        before = chances(lookup)
        tokens.append(5000 + start)
        assert lookup.guess(10) is None
    assert before[0] < 0.3
    for token in range(300, 360):
        tokens.append(token)
        again = lookup.guess(10)
    assert again is not None and again.chances[0] > 0.8


def test_guesses_are_scored_though_none_is_wanted() -> None:
    tokens = [*range(100), *range(20)]
    lookup = Lookup(tokens)
    before = chances(lookup)
    for token in range(20, 50):
        assert lookup.guess(0) is None
        tokens.append(token)
    assert chances(lookup)[0] > before[0]


@given(st.integers(1, 4), st.integers(1, 16))
def test_what_repeats_goes_on_repeating(period: int, most: int) -> None:
    tokens = [i % period for i in range(60)]
    guess = Lookup(tokens).guess(most)
    assert guess is not None
    assert guess.tokens == [(60 + i) % period for i in range(most)]
