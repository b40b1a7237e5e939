"""What requests ask of sampling, on the tiny models' own logits."""

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.backends import GREEDY, LLAMA, load, sample, tokens_of, write

from hubserve_engine.backends.base import Sampled
from hubserve_engine.backends.llama_cpp import LlamaCppBackend
from hubserve_engine.backends.llama_cpp.context import Context
from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling, TokenLogprob


@pytest.fixture(params=LLAMA)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LlamaCppBackend]:
    backend = load(str(request.param), tmp_path)
    assert isinstance(backend, LlamaCppBackend)
    yield backend
    backend.close()


@pytest.fixture
def prompt(backend: LlamaCppBackend) -> list[int]:
    return tokens_of(backend, "the land and the hour, as told in one line")


def first(
    backend: LlamaCppBackend,
    prompt: list[int],
    sampling: Sampling = GREEDY,
    logprobs: int | None = 288,
) -> Sampled:
    backend.remove(0)
    return sample(backend, 0, prompt, 0, backend.sampler(sampling, prompt), logprobs)


def likeliest(backend: LlamaCppBackend, prompt: list[int]) -> list[int]:
    logprob = first(backend, prompt).logprob
    assert logprob is not None
    return [each.id for each in logprob.top]


def bias(*biases: tuple[int | str, float]) -> Sampling:
    return Sampling(temperature=0.0, logit_bias=biases)


@pytest.mark.parametrize("temperature", [0.0, -1.0, 1e-40, 1e-9])
def test_no_temperature_takes_the_likeliest(
    backend: LlamaCppBackend, prompt: list[int], temperature: float
) -> None:
    cold = Sampling(temperature=temperature, seed=3)
    assert first(backend, prompt, cold).token == likeliest(backend, prompt)[0]


def test_a_bias_can_forbid_and_force(backend: LlamaCppBackend, prompt: list[int]) -> None:
    best, second, *_, last = likeliest(backend, prompt)
    assert first(backend, prompt, bias((best, -math.inf))).token == second
    assert first(backend, prompt, bias((last, 100.0))).token == last
    assert first(backend, prompt, bias((last, 60.0), (last, 40.0))).token == last
    assert first(backend, prompt, bias((last, 100.0), (last, -100.0))).token == best


def test_a_text_is_biased_by_its_tokens(backend: LlamaCppBackend, prompt: list[int]) -> None:
    best = likeliest(backend, prompt)[0]
    banned = "abcdefghijklmnopqrstuvwxyz"
    token = first(backend, prompt, bias((banned, -math.inf))).token
    assert token not in tokens_of(backend, banned)
    assert first(backend, prompt, bias(("<|im_end|>", 1000.0))).token in backend.end_tokens
    assert first(backend, prompt, bias(("", 50.0))).token == best


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
@pytest.mark.parametrize(
    "sampling",
    [GREEDY, Sampling(seed=1), Sampling(seed=1, top_k=0), Sampling(seed=1, repeat_penalty=1.1)],
    ids=["greedy", "top-k", "all", "penalties"],
)
def test_a_choice_among_no_numbers_is_told_so(
    backend: LlamaCppBackend,
    prompt: list[int],
    monkeypatch: pytest.MonkeyPatch,
    sampling: Sampling,
    value: float,
) -> None:
    logits = Context.logits

    def broken(context: Context, row: int) -> Row:
        found = logits(context, row)
        found[:] = value
        return found

    assert not first(backend, prompt, sampling).broken
    monkeypatch.setattr(Context, "logits", broken)
    assert first(backend, prompt, sampling).broken


def test_where_all_is_forbidden_there_is_no_choice(
    backend: LlamaCppBackend, prompt: list[int]
) -> None:
    every = tuple((token, -math.inf) for token in range(backend.loaded.vocabulary))
    assert first(backend, prompt, bias(*every)).broken


def test_an_answer_can_be_kept_from_ending(backend: LlamaCppBackend, prompt: list[int]) -> None:
    sampling = Sampling(temperature=0.0, ignore_eos=True, logit_bias=(("<|im_end|>", 100.0),))
    assert first(backend, prompt, sampling).token not in backend.end_tokens


def test_the_prompt_counts_for_penalties(backend: LlamaCppBackend, prompt: list[int]) -> None:
    harsh = Sampling(temperature=0.0, presence_penalty=1000.0, repeat_last_n=-1)
    written = write(backend, 1, prompt, 60, sampling=harsh)
    assert len(set(written)) == 60
    assert not set(written).intersection(prompt)


def test_only_the_last_tokens_count_for_penalties(
    backend: LlamaCppBackend, prompt: list[int]
) -> None:
    last = Sampling(temperature=0.0, presence_penalty=1000.0, repeat_last_n=1)
    written = write(backend, 1, prompt, 60, sampling=last)
    assert all(a != b for a, b in pairwise(written))
    assert len(set(written)) < 60


def probabilities(logprob: TokenLogprob | None) -> dict[int, float]:
    assert logprob is not None
    return {each.id: each.logprob for each in logprob.top}


def test_probabilities_are_those_of_the_whole_vocabulary(
    backend: LlamaCppBackend, prompt: list[int]
) -> None:
    logprob = first(backend, prompt).logprob
    found = probabilities(logprob)
    assert len(found) == backend.loaded.vocabulary
    assert sum(map(math.exp, found.values())) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert logprob is not None and logprob.chosen == logprob.top[0]


def test_probabilities_are_the_models_own(backend: LlamaCppBackend, prompt: list[int]) -> None:
    """Before penalties, biases, truncation and temperature."""
    plain = first(backend, prompt)
    changed = first(
        backend,
        prompt,
        Sampling(
            temperature=1.7,
            top_k=2,
            seed=1,
            presence_penalty=2.0,
            logit_bias=((plain.token, -math.inf),),
        ),
    )
    assert changed.token != plain.token
    assert probabilities(changed.logprob) == probabilities(plain.logprob)
    assert changed.logprob is not None
    assert changed.logprob.chosen.logprob == probabilities(plain.logprob)[changed.token]


def test_no_more_alternatives_come_than_there_are_tokens(
    backend: LlamaCppBackend, prompt: list[int]
) -> None:
    assert len(probabilities(first(backend, prompt, logprobs=10**6).logprob)) == 288


def test_a_hybrid_says_that_it_cannot_be_cut(backend: LlamaCppBackend) -> None:
    assert backend.capabilities.truncate == (backend.loaded.architecture != "qwen35")
