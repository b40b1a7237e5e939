"""Which guesses are verified: where they pay, as many as pay, and never more than there is room."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.support.guides import RuleGuide
from tests.support.sequences import sequence

from hubserve_engine.backends.base import Capabilities
from hubserve_engine.drafting import Drafter
from hubserve_engine.sequence import Sequence

MUCH = 10**6
TEXT = list(range(1000, 2000))


def drafter(*, rows: int = 19, rollback: int = MUCH, slots: int = 4) -> Drafter:
    capabilities = Capabilities(
        context_length=MUCH,
        slots=slots,
        parallel=slots,
        max_batch=512,
        max_rows=rows,
        truncate=True,
        restore_truncates=True,
        rollback=rollback,
    )
    return Drafter(capabilities)


def flat(drafter: Drafter) -> Drafter:
    """As a GPU is."""
    for _ in range(20):
        for tokens in (1, 2, 4, 16):
            drafter.cost.observe(tokens, 0.005 + tokens / 100_000, guessed=tokens > 1)
    return drafter


def written(drafter: Drafter, one: Sequence, answer: list[int]) -> list[int]:
    """How many tokens were guessed in each step, until the answer is written."""
    counts = []
    answer = list(answer)
    while answer:
        (guesses,) = drafter.choose([one])
        counts.append(len(guesses))
        right = 0
        while right < min(len(guesses), len(answer) - 1) and guesses[right] == answer[right]:
            right += 1
        one.tokens += answer[: right + 1]
        del answer[: right + 1]
    return counts


def test_a_copy_is_written_sixteen_tokens_at_a_time() -> None:
    counts = written(drafter(), sequence([*TEXT, *TEXT[:2]]), TEXT[2:602])
    assert counts[:3] == [0, 0, 0]
    assert counts[-5:] == [15] * 5
    assert len(counts) < 600 / 9


def test_ordinary_text_is_left_alone() -> None:
    numbers = random.Random(3)
    common = [[numbers.randrange(500) for _ in range(4)] for _ in range(40)]
    text = [t for _ in range(300) for t in (*numbers.choice(common), numbers.randrange(500))]
    counts = written(drafter(), sequence(text[:500]), text[500:])
    assert sum(counts) < 20


def test_where_more_tokens_cost_nothing_more_is_tried() -> None:
    numbers = random.Random(3)
    common = [[numbers.randrange(500) for _ in range(6)] for _ in range(40)]
    text = [t for _ in range(300) for t in (*numbers.choice(common), numbers.randrange(500))]
    steps = len(written(flat(drafter()), sequence(text[:500]), text[500:]))
    assert steps < 0.75 * len(text[500:])


def test_what_stops_paying_stops_and_what_pays_again_is_taken_up() -> None:
    numbers = random.Random(5)
    one = sequence(TEXT)
    chooser = drafter()
    assert written(chooser, one, TEXT[:200])[-1] == 15
    other = []
    for _ in range(60):
        start = numbers.randrange(900)
        other += [*TEXT[start : start + 4], numbers.randrange(50)]
    assert sum(written(chooser, one, other)[-100:]) < 20
    assert max(written(chooser, one, TEXT[300:500])) == 15


def test_beside_many_others_a_guess_costs_more_than_it_brings() -> None:
    sequences = [sequence([i, *TEXT, i, *TEXT[:20]]) for i in range(16)]
    chooser = drafter(rows=31, slots=16)
    for token in TEXT[20:40]:
        assert chooser.choose(sequences) == [[]] * 16
        for one in sequences:
            one.tokens.append(token)


def test_with_no_more_rows_than_sequences_nothing_is_guessed() -> None:
    one = sequence([*TEXT, *TEXT[:20]])
    assert flat(drafter(rows=4)).choose([one]) == [[]]
    assert flat(drafter(rollback=0)).choose([one]) == [[]]


def test_only_what_can_be_taken_back_is_guessed() -> None:
    one = sequence([*TEXT, *TEXT[:20]])
    (guesses,) = flat(drafter(rollback=4)).choose([one])
    assert guesses == TEXT[20:24]


@given(
    st.lists(st.tuples(st.integers(3, 60), st.integers(0, 30)), min_size=1, max_size=6),
    st.integers(0, 20),
)
def test_neither_rows_nor_limits_are_overrun(each: list[tuple[int, int]], spare: int) -> None:
    sequences = [
        sequence([*TEXT, *TEXT[:length]], limit=1000 + length + 1 + left) for length, left in each
    ]
    chooser = flat(drafter(rows=len(each) + spare, slots=len(each)))
    chosen = chooser.choose(sequences)
    assert sum(map(len, chosen)) <= spare
    for one, guesses in zip(sequences, chosen, strict=True):
        assert len(one.tokens) + len(guesses) + 1 <= one.limit


def test_nothing_is_guessed_that_the_guide_does_not_let_come() -> None:
    one = sequence([*TEXT, *TEXT[:20]])
    one.guide = RuleGuide(5000, lambda accepted: range(1000, 1025))
    (guesses,) = flat(drafter()).choose([one])
    assert guesses == TEXT[20:25]
