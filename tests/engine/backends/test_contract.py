"""What the loop trusts of a backend, whichever it is: one suite for all."""

import random
import threading
from pathlib import Path

import pytest
from tests.support.backend_fixtures import TEXT, backend, name, prompt
from tests.support.backends import (
    GREEDY,
    LLAMA,
    NAMES,
    SCRIPTED,
    load,
    read,
    sample,
    tokens_of,
    write,
)

from hubserve_engine.backends.base import Backend, Chunk, NoRoom
from hubserve_engine.types import Sampling

__all__ = ["backend", "name", "prompt"]

OTHER = "something else, which is about as long as the first but not the same"


@pytest.fixture
def other(backend: Backend) -> list[int]:
    return tokens_of(backend, OTHER)


@pytest.fixture
def expected(backend: Backend, prompt: list[int]) -> list[int]:
    """What is written after the prompt, alone and read in one go; slot 3 is empty again."""
    written = write(backend, 3, prompt, 12)
    backend.remove(3)
    return written


@pytest.mark.parametrize(
    "text", ["", "Hello", "Grüße 東京 👩‍🚀\n\n  x", "a\x00b", "<think>x</think>"]
)
def test_text_comes_back_from_its_tokens(backend: Backend, text: str) -> None:
    for parse_special in (True, False):
        tokens = backend.tokenize(text, add_special=False, parse_special=parse_special)
        assert all(0 <= token < backend.loaded.vocabulary for token in tokens)
        assert b"".join(backend.piece(t, special=True) for t in tokens) == text.encode()


def test_special_texts_are_tokens_only_where_asked(backend: Backend) -> None:
    (end,) = tokens_of(backend, "<|im_end|>")
    assert end in backend.end_tokens
    plain = backend.tokenize("<|im_end|>", add_special=False, parse_special=False)
    assert len(plain) > 1 and not backend.end_tokens.intersection(plain)


def test_control_tokens_show_only_where_asked(backend: Backend) -> None:
    (end,) = tokens_of(backend, "<|im_end|>")
    assert backend.piece(end) == b""
    assert backend.piece(end, special=True) == b"<|im_end|>"


def test_a_lone_surrogate_is_no_crash(backend: Backend) -> None:
    assert tokens_of(backend, "a\ud800b") == tokens_of(backend, "a?b")


def test_what_is_loaded_is_told(backend: Backend) -> None:
    loaded, capabilities = backend.loaded, backend.capabilities
    assert loaded.vocabulary > 256
    assert loaded.eos == "<|im_end|>"
    assert {"<|im_start|>", "<|im_end|>", "<think>", "</think>"} <= loaded.special_tokens
    assert loaded.chat_template and "im_start" in loaded.chat_template
    assert capabilities.slots == 4
    assert capabilities.context_length >= 1024
    assert capabilities.max_batch >= 2 * capabilities.min_chunk
    assert backend.end_tokens


@pytest.mark.parametrize("chunk", [8, 11, 16])
def test_a_prompt_may_be_read_in_parts(
    backend: Backend, prompt: list[int], expected: list[int], chunk: int
) -> None:
    while len(prompt) % chunk < backend.capabilities.min_chunk:
        chunk += 1
    assert write(backend, 0, prompt, 12, chunk=chunk) == expected


def test_slots_in_one_step_do_not_mix(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    alone = write(backend, 3, other, 12)
    backend.remove(3)
    first, second = (backend.sampler(GREEDY, each) for each in (prompt, other))
    backend.launch([Chunk(2, other, 0, second), Chunk(0, prompt, 0, first)])
    written = [[sampled.token] for (sampled,) in backend.collect()]
    for step in range(11):
        tokens = [tokens[-1] for tokens in written]
        backend.launch(
            [
                Chunk(2, tokens[:1], len(other) + step, second),
                Chunk(0, tokens[1:], len(prompt) + step, first),
            ]
        )
        for tokens, (sampled,) in zip(written, backend.collect(), strict=True):
            tokens.append(sampled.token)
    assert written == [alone, expected]


def test_a_prompt_is_read_beside_one_that_writes(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    sampler = backend.sampler(GREEDY, prompt)
    written = [sample(backend, 0, prompt, 0, sampler).token]
    position = 0
    while len(written) < 12:
        chunks = [Chunk(0, written[-1:], len(prompt) + len(written) - 1, sampler)]
        if part := other[position : position + 8]:
            chunks.append(Chunk(1, part, position))
            position += len(part)
        backend.launch(chunks)
        ((sampled,),) = backend.collect()
        written.append(sampled.token)
    assert written == expected


def test_tokens_are_sampled_only_where_asked(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    sampler = backend.sampler(GREEDY, prompt)
    backend.launch([Chunk(1, other, 0), Chunk(0, prompt, 0, sampler), Chunk(2, other, 0)])
    assert [sampled.token for (sampled,) in backend.collect()] == expected[:1]
    assert backend.collect() == []


def test_a_slot_can_be_cut_back_or_says_that_it_cannot(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    read(backend, 0, [*prompt, *other])
    if backend.capabilities.truncate:
        assert backend.truncate(0, len(prompt) - 8)
        assert write(backend, 0, prompt, 12, known=len(prompt) - 8) == expected
    else:
        assert not backend.truncate(0, len(prompt) - 8)
        # Nothing has changed: it goes on as if nobody had asked.
        longer = [*prompt, *other, *prompt]
        again = write(backend, 0, longer, 6, known=len(prompt) + len(other))
        read(backend, 1, [*prompt, *other])
        assert write(backend, 1, longer, 6, known=len(prompt) + len(other)) == again


def test_a_copy_goes_on_by_itself(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    read(backend, 0, prompt[:-8])
    assert backend.fork(0, 1)
    write(backend, 0, [*prompt[:-8], *other], 4, known=len(prompt) - 8)
    assert write(backend, 1, prompt, 12, known=len(prompt) - 8) == expected
    backend.remove(0)
    if backend.capabilities.truncate:
        # What the original held is still there for the copy.
        assert backend.truncate(1, len(prompt) - 8)
        assert write(backend, 1, prompt, 12, known=len(prompt) - 8) == expected


def test_an_emptied_slot_is_as_good_as_new(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    write(backend, 0, other, 5)
    backend.remove(0)
    backend.remove(0)
    assert write(backend, 0, prompt, 12) == expected


def saved(backend: Backend, slot: int) -> bytes:
    state = backend.save(slot)
    assert state is not None and len(state) == backend.state_size(slot)
    return bytes(state)


def test_a_saved_slot_goes_on_as_if_it_had_never_been_away(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    read(backend, 0, prompt[:-8])
    state = saved(backend, 0)
    # It has not changed what it saved.
    assert write(backend, 0, prompt, 12, known=len(prompt) - 8) == expected
    backend.remove(0)
    write(backend, 1, other, 5)
    for slot in (0, 2):
        assert backend.load(slot, state)
        assert write(backend, slot, prompt, 12, known=len(prompt) - 8) == expected


def test_a_slot_that_was_loaded_is_like_any_other(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    """It can be copied, and saved again with the tokens that it shares with its copy."""
    read(backend, 0, prompt[:-16])
    assert backend.load(1, saved(backend, 0))
    assert backend.fork(1, 2)
    read(backend, 1, other, len(prompt) - 16)
    read(backend, 2, prompt[-16:-8], len(prompt) - 16)
    state = saved(backend, 2)
    for slot in range(3):
        backend.remove(slot)
    assert backend.load(3, state)
    assert write(backend, 3, prompt, 12, known=len(prompt) - 8) == expected


def test_a_loaded_slot_can_be_cut_back_or_says_that_it_cannot(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    read(backend, 0, prompt)
    read(backend, 0, other, len(prompt))
    state = saved(backend, 0)
    backend.remove(0)
    cut = []
    for length in (8, len(prompt) // 2, len(prompt) - 8):
        assert backend.load(0, state)
        cut.append(backend.truncate(0, length))
        if cut[-1]:
            assert write(backend, 0, prompt, 12, known=length) == expected
        else:
            # Nothing has changed.
            assert saved(backend, 0) == state
        backend.remove(0)
    assert all(cut) or not backend.capabilities.restore_truncates


def test_what_is_saved_after_tokens_were_taken_back_is_right(
    backend: Backend, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    read(backend, 0, prompt[:-16])
    read(backend, 0, [*prompt[-16:-8], *other[:2]], len(prompt) - 16)
    assert backend.truncate(0, len(prompt) - 8)
    state = saved(backend, 0)
    backend.remove(0)
    assert backend.load(2, state)
    assert write(backend, 2, prompt, 12, known=len(prompt) - 8) == expected


def test_parts_of_a_state_make_the_whole_one(
    backend: Backend, name: str, prompt: list[int], other: list[int], expected: list[int]
) -> None:
    """Where it can be had in parts, and while its sequence goes on."""
    length = len(prompt) - 8
    read(backend, 0, prompt[:length])
    write(backend, 1, other, 5)
    state = bytearray()
    for first in range(0, length, 10):
        part = backend.save_part(0, first, min(first + 10, length))
        if part is None:
            assert not (state or backend.capabilities.parts or name in ("scripted", "tiny-llama"))
            pytest.skip("it is saved as it stands")
        state += part
    assert write(backend, 0, prompt, 12, known=length) == expected
    backend.remove(0)
    assert not backend.load(0, bytes(state[:-1]))
    assert backend.state_size(0) == 0
    for slot in (0, 2):
        assert backend.load(slot, bytes(state))
        assert write(backend, slot, prompt, 12, known=length) == expected
    backend.remove(0)
    assert backend.truncate(2, length)
    assert write(backend, 2, prompt, 12, known=length) == expected


def test_an_empty_slot_has_no_state(backend: Backend, prompt: list[int]) -> None:
    assert backend.state_size(0) == 0
    assert backend.save(0) is None
    read(backend, 0, prompt)
    backend.remove(0)
    assert backend.save(0) is None


@pytest.fixture
def strangers(name: str, tmp_path: Path) -> list[bytes]:
    """States of other kinds of models, and of this one under other settings."""
    states = []
    for each, fa in [*((each, False) for each in NAMES if each != name), (name, True)]:
        if each == name and each not in LLAMA:
            continue
        backend = load(each, tmp_path, flash_attention=fa)
        read(backend, 0, tokens_of(backend, OTHER))
        states.append(saved(backend, 0))
        backend.close()
    return states


def test_what_is_no_state_is_not_loaded(
    strangers: list[bytes],
    backend: Backend,
    prompt: list[int],
    other: list[int],
    expected: list[int],
) -> None:
    alone = write(backend, 1, other, 8)
    backend.remove(1)
    sampler = backend.sampler(GREEDY, other)
    written = [sample(backend, 1, other, 0, sampler).token]

    read(backend, 0, prompt)
    state = saved(backend, 0)
    backend.remove(0)
    ends = {0, 1, 3, 4, 8, 16, 100, len(state) // 2, len(state) * 3 // 4, len(state) - 1}
    garbage = random.Random(1).randbytes(len(state))
    wrong = [state[:end] for end in ends] + [state + b"\0", garbage, bytes(len(state))]
    for data in (*wrong, *strangers):
        assert not backend.load(0, data)
        assert backend.state_size(0) == 0

    assert write(backend, 0, prompt, 12) == expected
    while len(written) < 8:
        position = len(other) + len(written) - 1
        written.append(sample(backend, 1, written[-1:], position, sampler).token)
    assert written == alone


def test_a_state_that_finds_no_room_changes_nothing(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path, context=256, batch=256)
    text = tokens_of(backend, TEXT * 6)
    long, other = text[:180], text[40:140]
    read(backend, 0, long)
    state = saved(backend, 0)
    backend.remove(0)
    expected = write(backend, 1, other, 8)
    backend.remove(1)

    read(backend, 1, other[:-8])
    assert not backend.load(0, state)
    assert backend.state_size(0) == 0
    assert write(backend, 1, other, 8, known=len(other) - 8) == expected
    backend.remove(1)
    assert backend.load(0, state)
    backend.close()


def test_the_key_tells_what_a_state_depends_on(name: str, tmp_path: Path) -> None:
    keys = set()
    for each, fa in ((name, False), (name, False), *((n, False) for n in NAMES), (name, True)):
        backend = load(each, tmp_path, flash_attention=fa)
        keys.add(backend.state_key)
        backend.close()
    assert "" not in keys
    # One for llama.cpp, and one for transformers: the weights are told elsewhere.
    assert len(keys) == (len(SCRIPTED) + 2 + (name in LLAMA))


def test_what_does_not_fit_changes_nothing(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path, context=256, batch=256)
    text = tokens_of(backend, TEXT * 6)
    long, other = text[:180], text[40:140]
    expected = write(backend, 0, long, 12)
    backend.remove(0)
    rest = write(backend, 1, other, 4)
    backend.remove(1)

    sampler = backend.sampler(GREEDY, long)
    written = [sample(backend, 0, long, 0, sampler).token]
    for _ in range(2):
        with pytest.raises(NoRoom):
            backend.launch([Chunk(0, written[-1:], 180, sampler), Chunk(1, other, 0)])
        assert backend.collect() == []
    while len(written) < 12:
        written.append(sample(backend, 0, written[-1:], 179 + len(written), sampler).token)
    assert written == expected
    backend.remove(0)
    assert write(backend, 1, other, 4) == rest
    backend.close()


@pytest.mark.parametrize("drafts", [0, 4, 15])
@pytest.mark.parametrize("spare", [0, 12])
def test_spare_slots_and_guesses_are_had_in_any_numbers(
    name: str, tmp_path: Path, spare: int, drafts: int
) -> None:
    backend = load(name, tmp_path, slots=2, spare=spare, drafts=drafts)
    assert backend.capabilities.slots == 2 + spare
    tokens = tokens_of(backend, "the land and the hour, as told")
    last = backend.capabilities.slots - 1
    assert write(backend, last, tokens, 3) == write(backend, 0, tokens, 3)
    backend.close()


def test_every_token_of_the_context_can_be_used(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path, context=256, batch=256)
    prompt = tokens_of(backend, TEXT * 10)[: backend.capabilities.context_length - 1]
    written = write(backend, 0, prompt, 2)
    with pytest.raises(NoRoom):
        read(backend, 0, written[-1:], len(prompt) + 1)
    backend.close()


SEEDED = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=7)


def test_threads_do_not_change_what_is_written(
    name: str, tmp_path: Path, prompt: list[int], expected: list[int]
) -> None:
    backend = load(name, tmp_path, threads=2)
    for slot, count in enumerate((backend.capabilities.threads, 1)):
        backend.use_threads(count)
        assert write(backend, slot, prompt, 12) == expected
    backend.close()


def test_the_same_seed_gives_the_same_tokens(backend: Backend, prompt: list[int]) -> None:
    first = write(backend, 0, prompt, 20, sampling=SEEDED)
    assert write(backend, 1, prompt, 20, sampling=SEEDED) == first


@pytest.mark.parametrize("seed", [None, 0, 8, 2**31, 2**32 - 1, 2**40 + 1, -1, -5])
def test_other_seeds_give_other_tokens(
    backend: Backend, prompt: list[int], seed: int | None
) -> None:
    sampling = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
    first = write(backend, 0, prompt, 20, sampling=SEEDED)
    assert write(backend, 1, prompt, 20, sampling=sampling) != first


def test_random_numbers_belong_to_the_sequence(
    backend: Backend, prompt: list[int], other: list[int]
) -> None:
    """One that gave way to others goes on in another slot as if nothing had been."""
    expected = write(backend, 0, prompt, 20, sampling=SEEDED)
    sampler = backend.sampler(SEEDED, prompt)
    written = [sample(backend, 1, prompt, 0, sampler).token]
    while len(written) < 10:
        position = len(prompt) + len(written) - 1
        written.append(sample(backend, 1, written[-1:], position, sampler).token)
    backend.remove(1)
    write(backend, 2, other, 5, sampling=Sampling(seed=1))
    written.append(sample(backend, 3, [*prompt, *written], 0, sampler).token)
    assert written == expected[:11]


def test_an_answer_that_may_not_end_does_not(backend: Backend) -> None:
    prompt = tokens_of(backend, "Go on for ever")
    sampling = Sampling(temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=3, ignore_eos=True)
    written = write(backend, 0, prompt, 100, sampling=sampling)
    assert not backend.end_tokens.intersection(written)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_probabilities_come_with_the_token(backend: Backend, prompt: list[int], count: int) -> None:
    sampler = backend.sampler(GREEDY, prompt)
    sampled = sample(backend, 0, prompt, 0, sampler, logprobs=count)
    assert sampled.logprob is not None
    chosen, top = sampled.logprob.chosen, sampled.logprob.top
    assert chosen.id == sampled.token
    assert chosen.logprob <= 0
    assert len(top) == count
    assert list(top) == sorted(top, key=lambda each: -each.logprob)
    assert all(each.piece == backend.piece(each.id, special=True) for each in (chosen, *top))
    if top:
        assert top[0] == chosen


def test_without_being_asked_there_are_no_probabilities(
    backend: Backend, prompt: list[int]
) -> None:
    sampler = backend.sampler(GREEDY, prompt)
    assert sample(backend, 0, prompt, 0, sampler).logprob is None


def test_a_sampler_may_be_closed_twice(backend: Backend, prompt: list[int]) -> None:
    sampler = backend.sampler(GREEDY, prompt)
    sampler.close()
    sampler.close()


def test_requests_are_prepared_while_a_step_runs(
    backend: Backend, prompt: list[int], expected: list[int]
) -> None:
    """`tokenize`, `piece` and `sampler` are called from another thread."""
    over = threading.Event()
    faults: list[BaseException] = []

    def prepare() -> None:
        try:
            while not over.is_set():
                tokens = tokens_of(backend, OTHER)
                assert b"".join(map(backend.piece, tokens)) == OTHER.encode()
                backend.sampler(SEEDED, tokens).close()
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=prepare)
    thread.start()
    try:
        for _ in range(5):
            assert write(backend, 0, prompt, 12) == expected
            backend.remove(0)
    finally:
        over.set()
        thread.join()
    assert not faults


def test_it_can_be_closed_twice(name: str, tmp_path: Path) -> None:
    backend = load(name, tmp_path)
    backend.close()
    backend.close()
