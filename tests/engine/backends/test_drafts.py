"""Guesses in a step: whichever they are, the tokens are those that come without them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.backend_fixtures import TEXT, backend, name, prompt
from tests.support.backends import GREEDY, LLAMA, guess, load, read, sample, tokens_of, write

from hubserve_engine.backends.base import Backend, Chunk, Sampled
from hubserve_engine.types import Sampling, TokenLogprob

__all__ = ["backend", "name", "prompt"]

SEEDED = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=7)
PENALIZED = Sampling(
    temperature=1.2, seed=11, repeat_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.2
)
COUNT = 24
Draft = Callable[[Sequence[int]], Sequence[int]]


@pytest.fixture(params=LLAMA)
def llama(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = load(str(request.param), tmp_path)
    yield backend
    backend.close()


def right(coming: Sequence[int]) -> Sequence[int]:
    return coming[:5]


def wrong(coming: Sequence[int]) -> Sequence[int]:
    return [token ^ 1 for token in coming[:3]]


def right_at_first(coming: Sequence[int]) -> Sequence[int]:
    return [*coming[:2], *(token ^ 1 for token in coming[2:4]), *coming[4:6]]


def now_and_then(coming: Sequence[int]) -> Sequence[int]:
    return right_at_first(coming) if len(coming) % 3 else ()


DRAFTS = (right, wrong, right_at_first, now_and_then)


def plain(backend: Backend, prompt: Sequence[int], sampling: Sampling) -> list[Sampled]:
    """Token by token, in slot 3, which is empty again."""
    sampler = backend.sampler(sampling, prompt)
    found = [sample(backend, 3, prompt, 0, sampler, 2)]
    while len(found) < COUNT:
        position = len(prompt) + len(found) - 1
        found.append(sample(backend, 3, [found[-1].token], position, sampler, 2))
    backend.remove(3)
    return found


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED, PENALIZED], ids=["greedy", "seed", "penalty"])
@pytest.mark.parametrize("draft", DRAFTS)
def test_tokens_and_probabilities_are_those_without_guesses(
    backend: Backend, prompt: list[int], sampling: Sampling, draft: Draft
) -> None:
    expected = plain(backend, prompt, sampling)
    coming = [each.token for each in expected]
    sampler = backend.sampler(sampling, prompt)
    found = [sample(backend, 0, prompt, 0, sampler, 2)]
    while len(found) < COUNT:
        position = len(prompt) + len(found) - 1
        last = [found[-1].token]
        found += guess(backend, 0, last, draft(coming[len(found) :]), position, sampler, 2)
    assert [each.token for each in found[:COUNT]] == coming
    for a, b in zip(found, expected, strict=False):
        assert a.logprob is not None and b.logprob is not None
        assert numbers(a.logprob) == pytest.approx(numbers(b.logprob), abs=0.02)


def numbers(logprob: TokenLogprob) -> list[float]:
    return [logprob.chosen.logprob, *(each.logprob for each in logprob.top)]


def test_one_token_more_is_written_than_guesses_were_right(
    backend: Backend, prompt: list[int]
) -> None:
    coming = [each.token for each in plain(backend, prompt, GREEDY)]
    rest = coming[1:]
    drafts: Sequence[tuple[int, Sequence[int]]] = (
        (1, []),
        (6, right(rest)),
        (1, wrong(rest)),
        (3, right_at_first(rest)),
    )
    for count, draft in drafts:
        sampler = backend.sampler(GREEDY, prompt)
        first = guess(backend, 0, prompt, coming[:1], 0, sampler)
        assert [each.token for each in first] == coming[:2]
        backend.remove(0)
        sample(backend, 0, prompt, 0, sampler := backend.sampler(GREEDY, prompt))
        found = guess(backend, 0, coming[:1], draft, len(prompt), sampler)
        assert len(found) == count
        backend.remove(0)


def test_nothing_comes_after_an_end(backend: Backend) -> None:
    prompt = tokens_of(backend, TEXT)
    (end,) = tokens_of(backend, "<|im_end|>")
    if backend.loaded.architecture == "scripted":
        sampler = backend.sampler(GREEDY, prompt)
        written = [sample(backend, 0, prompt, 0, sampler).token]
        while len(written) < 200:
            position = len(prompt) + len(written) - 1
            written.append(sample(backend, 0, written[-1:], position, sampler).token)
        position, last = len(prompt) + 199, written[-1:]
    else:
        sampler = backend.sampler(Sampling(temperature=0, logit_bias=((end, 1000.0),)), prompt)
        position, last = 0, prompt
    found = guess(backend, 0, last, [end, end, last[0]], position, sampler)
    assert [each.token for each in found] == [end]


def test_guesses_of_several_beside_a_prompt_do_not_mix(backend: Backend) -> None:
    prompts = [tokens_of(backend, text + TEXT) for text in ("one", "another", "a third ")]
    coming = [write(backend, slot, prompt, 12) for slot, prompt in enumerate(prompts)]
    samplers = []
    for slot, tokens in enumerate(prompts):
        backend.remove(slot)
        samplers.append(backend.sampler(GREEDY, tokens))
        sample(backend, slot, tokens, 0, samplers[-1])
    drafts = [coming[0][1:8], [coming[1][1], coming[1][2] ^ 1, 7], []]
    chunks = [Chunk(3, prompts[0], 0)]
    for slot, draft in enumerate(drafts):
        tokens = [coming[slot][0], *draft]
        chunks.append(Chunk(slot, tokens, len(prompts[slot]), samplers[slot], None, len(draft)))
    backend.launch(chunks)
    found = [[each.token for each in tokens] for tokens in backend.collect()]
    assert found == [coming[0][1:9], coming[1][1:3], coming[2][1:2]]
    for slot, tokens in enumerate(found):
        held = len(prompts[slot]) + len(tokens)
        assert backend.truncate(slot, held)
        again = sample(backend, slot, tokens[-1:], held, samplers[slot])
        assert again.token == coming[slot][1 + len(tokens)]


def test_what_it_says_of_guesses_holds(backend: Backend) -> None:
    capabilities = backend.capabilities
    assert capabilities.max_rows == capabilities.slots + 15
    assert capabilities.rollback >= 1
    assert not capabilities.truncate or capabilities.rollback >= 15


def test_without_guesses_there_is_a_row_for_each_sequence(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path, drafts=0, snapshots=0)
    assert backend.capabilities.max_rows == backend.capabilities.slots
    assert backend.capabilities.truncate or backend.capabilities.rollback == 0
    backend.close()


def test_more_rows_than_there_is_room_for_are_a_fault_not_an_abort(llama: Backend) -> None:
    tokens = tokens_of(llama, TEXT)
    sampler = llama.sampler(GREEDY, tokens)
    with pytest.raises(RuntimeError, match="20 rows in a step, of at most 19"):
        llama.launch([Chunk(0, tokens, 0, sampler, None, 19)])
    assert llama.collect() == []
    assert len(write(llama, 0, tokens, 4)) == 4


def test_a_hybrid_goes_back_within_its_last_step_only(tmp_path: Path) -> None:
    """Further, llama.cpp says yes and its numbers are wrong."""
    backend = load("tiny-qwen35", tmp_path, snapshots=4)
    prompt = tokens_of(backend, TEXT)
    coming = write(backend, 1, prompt, 12)
    read(backend, 0, prompt)
    read(backend, 0, coming[:1], len(prompt))
    assert not backend.truncate(0, len(prompt))
    read(backend, 0, coming[1:4], len(prompt) + 1)
    assert not backend.truncate(0, len(prompt) + 1)
    assert backend.truncate(0, len(prompt) + 4)
    assert backend.truncate(0, len(prompt) + 2)
    # Only once; a copy is what is left, though it has not gone on yet.
    assert not backend.truncate(0, len(prompt) + 1)
    assert backend.fork(0, 2)
    assert not backend.truncate(2, len(prompt) + 1)
    for slot in (2, 0):
        sampler = backend.sampler(GREEDY, prompt)
        assert sample(backend, slot, coming[2:3], len(prompt) + 2, sampler).token == coming[3]
    # Neither is what was in the last step before the copy to be taken back, here or there.
    read(backend, 0, coming[3:6], len(prompt) + 3)
    assert backend.fork(0, 3)
    assert not backend.truncate(0, len(prompt) + 5)
    assert not backend.truncate(3, len(prompt) + 5)
    for slot, known in ((2, 3), (3, 6)):
        sampler = backend.sampler(GREEDY, prompt)
        position = len(prompt) + known
        assert (
            sample(backend, slot, coming[known : known + 1], position, sampler).token
            == (coming[known + 1])
        )
    backend.close()


def test_a_hybrid_that_reads_again_after_a_cut_is_right(tmp_path: Path) -> None:
    backend = load("tiny-qwen35", tmp_path, snapshots=4)
    prompt = tokens_of(backend, TEXT)
    coming = write(backend, 1, prompt, 12)
    for _ in range(3):
        read(backend, 0, prompt)
        read(backend, 0, coming[:3], len(prompt))
        assert backend.truncate(0, len(prompt) + 1)
        backend.remove(0)
    assert write(backend, 0, prompt, 12) == coming
    backend.close()
