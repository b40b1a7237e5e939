"""Guided sampling: no backend writes what may not come, whatever its model would rather say."""

from collections.abc import Sequence

import pytest
from tests.support.backend_fixtures import backend, name, prompt
from tests.support.backends import GREEDY, sample
from tests.support.guides import Rule, RuleGuide, spelling

from hubserve_engine.backends.base import Backend, Chunk, Sampled
from hubserve_engine.choosing import Guide
from hubserve_engine.types import Sampling

__all__ = ["backend", "name", "prompt"]

ALLOWED = (65, 97, 98, 99, 100, 200)
SAMPLINGS = [
    GREEDY,
    Sampling(seed=7),
    Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=7),
    Sampling(seed=11, repeat_penalty=1.3, frequency_penalty=0.4),
]


def write(
    backend: Backend,
    prompt: list[int],
    guide: Guide | None,
    count: int,
    sampling: Sampling = GREEDY,
    logprobs: int | None = None,
) -> list[Sampled]:
    """Token by token, in slot 0, which is empty again."""
    sampler = backend.sampler(sampling, prompt)
    found: list[Sampled] = []
    tokens, position = prompt, 0
    while len(found) < count:
        backend.launch([Chunk(0, tokens, position, sampler, logprobs, guide=guide)])
        ((sampled,),) = backend.collect()
        found.append(sampled)
        position += len(tokens)
        tokens = [sampled.token]
    backend.remove(0)
    return found


def always(tokens: Sequence[int] | None) -> Rule:
    return lambda _accepted: tokens


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_only_what_the_guide_allows_is_chosen(
    backend: Backend, prompt: list[int], sampling: Sampling
) -> None:
    guide = RuleGuide(backend.loaded.vocabulary, lambda _accepted: ALLOWED)
    tokens = [each.token for each in write(backend, prompt, guide, 20, sampling)]
    assert set(tokens) <= set(ALLOWED)
    assert guide.accepted == tokens


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_guide_that_allows_everything_changes_nothing(
    backend: Backend, prompt: list[int], sampling: Sampling
) -> None:
    vocabulary = backend.loaded.vocabulary
    plain = write(backend, prompt, None, 12, sampling)
    for free in (None, range(vocabulary)):
        guide = RuleGuide(vocabulary, always(free))
        assert write(backend, prompt, guide, 12, sampling) == plain
        assert guide.accepted == [each.token for each in plain]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_what_was_likeliest_is_not_written_where_it_may_not_come(
    backend: Backend, prompt: list[int], sampling: Sampling
) -> None:
    vocabulary = backend.loaded.vocabulary
    (first,) = write(backend, prompt, None, 1, sampling)
    others = [token for token in range(vocabulary) if token != first.token]
    guide = RuleGuide(vocabulary, lambda _accepted: others)
    (instead,) = write(backend, prompt, guide, 1, sampling)
    assert instead.token != first.token and not instead.broken


def test_probabilities_stay_the_models_own(backend: Backend, prompt: list[int]) -> None:
    (free,) = write(backend, prompt, None, 1, logprobs=5)
    guide = RuleGuide(backend.loaded.vocabulary, lambda _accepted: (free.token, *ALLOWED))
    (guided,) = write(backend, prompt, guide, 1, logprobs=5)
    assert free.logprob is not None and guided.logprob is not None
    assert guided.logprob.top == free.logprob.top


def test_one_that_must_come_takes_no_random_number(backend: Backend, prompt: list[int]) -> None:
    """So the text is the same, whether it was asked for or written without asking."""
    sampling, forced = Sampling(temperature=1.5, seed=3), [97, 98, 99]
    vocabulary = backend.loaded.vocabulary

    def forced_first(accepted: tuple[int, ...]) -> range | tuple[int, ...]:
        return tuple(forced[len(accepted) :][:1]) or range(vocabulary)

    asked = write(backend, prompt, RuleGuide(vocabulary, forced_first), 12, sampling)
    assert [each.token for each in asked[:3]] == forced
    sampler = backend.sampler(sampling, prompt)
    for token in forced:
        sampler.accept(token)
    sampled = sample(backend, 0, [*prompt, *forced], 0, sampler)
    assert sampled.token == asked[3].token


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_where_nothing_may_come_the_token_means_nothing(
    backend: Backend, prompt: list[int], sampling: Sampling
) -> None:
    guide = RuleGuide(backend.loaded.vocabulary, lambda _accepted: ())
    (sampled,) = write(backend, prompt, guide, 1, sampling)
    assert sampled.broken and not guide.accepted


def test_what_is_allowed_and_forbidden_at_once_means_nothing(
    backend: Backend, prompt: list[int]
) -> None:
    if backend.loaded.architecture == "scripted":
        pytest.skip("it knows no biases")
    for temperature in (0.0, 1.0):
        biases = ((65, float("-inf")), (97, float("-inf")))
        guide = RuleGuide(backend.loaded.vocabulary, lambda _accepted: (65, 97))
        sampling = Sampling(temperature=temperature, logit_bias=biases)
        (sampled,) = write(backend, prompt, guide, 1, sampling)
        assert sampled.broken


@pytest.mark.parametrize("drafts", [[98, 99, 100], [98, 99, 98], [99], []])
def test_guesses_are_verified_against_the_guide(
    backend: Backend, prompt: list[int], drafts: list[int]
) -> None:
    guide = spelling(backend.loaded.vocabulary, [97, 98, 99, 100, 101])
    sampler = backend.sampler(GREEDY, prompt)
    first = Chunk(0, prompt, 0, sampler, guide=guide)
    backend.launch([first])
    ((sampled,),) = backend.collect()
    assert sampled.token == 97
    backend.launch([Chunk(0, [97, *drafts], len(prompt), sampler, None, len(drafts), guide)])
    (found,) = backend.collect()
    tokens = [97, *(each.token for each in found)]
    assert tokens == guide.accepted == [97, 98, 99, 100, 101][: len(tokens)]
    right = next((n for n, t in enumerate(drafts) if t != 98 + n), len(drafts))
    assert len(found) == right + 1


def test_nothing_is_sampled_once_the_guide_is_done(backend: Backend, prompt: list[int]) -> None:
    guide = spelling(backend.loaded.vocabulary, [97, 98])
    sampler = backend.sampler(GREEDY, prompt)
    backend.launch([Chunk(0, [*prompt, 97, 98, 99], 0, sampler, None, 3, guide)])
    (found,) = backend.collect()
    assert [each.token for each in found] == [97, 98]
