"""Sparse edits of logits against llama.cpp's own penalties."""

import math
from collections.abc import Sequence

import llama_cpp.llama_cpp as llama
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.chains import applied, row

from hubserve_engine.backends.edits import EditingSampler, token_biases
from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling


def penalized(sampling: Sampling, tokens: Sequence[int], logits: Row, context: int) -> Row:
    """What llama.cpp's own sampler makes of the row."""
    last = sampling.repeat_last_n if sampling.repeat_last_n >= 0 else context
    own = llama.llama_sampler_init_penalties(
        len(logits),
        last,
        sampling.repeat_penalty,
        sampling.frequency_penalty,
        sampling.presence_penalty,
    )
    for token in tokens:
        llama.llama_sampler_accept(own, token)
    left, _ = applied(own, logits)
    llama.llama_sampler_free(own)
    return np.array([each.logit for each in left], np.float32)


@settings(max_examples=60)
@given(
    prompt=st.lists(st.integers(0, 15), max_size=20),
    answer=st.lists(st.integers(0, 15), max_size=20),
    last=st.sampled_from([-1, 0, 1, 3, 8, 64]),
    repeat=st.sampled_from([1.0, 1.1, 1.3, 0.7]),
    presence=st.sampled_from([0.0, 0.5, 1.3, -0.7]),
    frequency=st.sampled_from([0.0, 0.25, 0.1, -0.3]),
    seed=st.integers(0, 5),
)
def test_penalties_are_llama_cpps_own(
    prompt: list[int],
    answer: list[int],
    last: int,
    repeat: float,
    presence: float,
    frequency: float,
    seed: int,
) -> None:
    sampling = Sampling(
        repeat_last_n=last,
        repeat_penalty=repeat,
        presence_penalty=presence,
        frequency_penalty=frequency,
    )
    edits = EditingSampler(sampling, prompt, {}, 64)
    for token in answer:
        edits.accept(token)
    logits = row(seed, 20)
    expected = penalized(sampling, [*prompt, *answer], logits, 64)
    edits.edit(logits)
    # A compiler may fuse a multiplication and an addition, which rounds once less.
    np.testing.assert_allclose(logits, expected, rtol=3e-7)


def test_penalties_equal_llama_cpps_own_to_the_last_bit() -> None:
    sampling = Sampling(repeat_penalty=1.25, presence_penalty=0.5, frequency_penalty=0.25)
    tokens = [int(t) for t in np.random.default_rng(1).integers(0, 40, 200)]
    edits, logits = EditingSampler(sampling, tokens, {}, 512), row(5)
    expected = penalized(sampling, tokens, logits, 512)
    edits.edit(logits)
    assert np.array_equal(logits, expected)


def test_without_penalties_and_biases_the_row_is_left_alone() -> None:
    for sampling in (Sampling(), Sampling(repeat_penalty=1.5, repeat_last_n=0)):
        sampler, logits = EditingSampler(sampling, [1, 2], {}, 64), row(1)
        sampler.accept(3)
        sampler.edit(logits)
        assert np.array_equal(logits, row(1))


def test_biases_are_added() -> None:
    edits, logits = EditingSampler(Sampling(), [], {3: 2.5, 5: -math.inf}, 64), row(1)
    before = logits.copy()
    edits.edit(logits)
    assert logits[3] == before[3] + np.float32(2.5)
    assert logits[5] == -np.inf
    logits[[3, 5]] = before[[3, 5]]
    assert np.array_equal(logits, before)


def test_biases_of_texts_and_tokens_add_up() -> None:
    sampling = Sampling(logit_bias=((5, 1.0), ("ab", 2.0), ("b", -0.5)))
    found = token_biases(sampling, (9,), lambda text: text.encode(), suppressed=(5,))
    assert found == {5: -math.inf, ord("a"): 2.0, ord("b"): 1.5}


def test_an_answer_that_may_not_end_forbids_all_ends() -> None:
    found = token_biases(Sampling(ignore_eos=True), (2, 9), lambda text: ())
    assert found == {2: -math.inf, 9: -math.inf}
