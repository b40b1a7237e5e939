"""Steps that verify guesses: whatever is guessed, the client sees what it would see without."""

import random
from collections.abc import Callable
from collections.abc import Sequence as Series
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import process
from tests.support.backend_fixtures import backend, name
from tests.support.loops import Bench, completed, finished, text

from hubserve_engine import backends
from hubserve_engine.backends.base import Backend, BackendConfig, Chunk, NoRoom
from hubserve_engine.drafting import Drafter
from hubserve_engine.sequence import Sequence
from hubserve_engine.types import Completed, Delta, Event, Request, SamplingOptions
from hubserve_engine.worker import loop
from hubserve_engine.worker.protocol import Step

__all__ = ["backend", "name"]

Guesser = Callable[[Sequence], list[int]]


@pytest.fixture
def guessing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Guesser], None]:
    """Lets a function say what is guessed for each sequence."""

    def install(guesser: Guesser) -> None:
        class Told(Drafter):
            def choose(self, sequences: Series[Sequence]) -> list[list[int]]:
                return [guesser(each) for each in sequences]

        monkeypatch.setattr(loop, "Drafter", Told)

    return install


def lookup(sequence: Sequence) -> list[int]:
    """All that the text itself suggests, whether it pays or not."""
    guess = sequence.lookup.guess(min(4, sequence.limit - len(sequence.tokens) - 1))
    return guess.tokens if guess is not None else []


def nothing(_sequence: Sequence) -> list[int]:
    return []


def knowing(answer: str, most: int = 6, *, wrong_at: int = 99) -> Guesser:
    """The next bytes of an answer, the one with this number wrong; also beyond any limit."""

    def guess(sequence: Sequence) -> list[int]:
        done = len(sequence.tokens) - sequence.prompt_length
        coming = list(answer.encode())[done : done + most]
        return [token ^ (i == wrong_at) for i, token in enumerate(coming)]

    return guess


def scripted(folder: Path, *rules: dict[str, Any], context: int = 1000) -> Backend:
    file = process.script(folder, *rules)
    config = BackendConfig((str(file),), context_length=context, parallel=4, drafts=40)
    return backends.load("scripted", config, lambda _done: None)


def run(backend: Backend, *requests: Request) -> tuple[Bench, list[list[Event]]]:
    bench = Bench(backend)
    ids = [bench.submit(request) for request in requests]
    bench.run()
    return bench, [bench.events(id) for id in ids]


def seen(events: list[Event]) -> list[Any]:
    """All that a client is told but when, how much at once, and how much was guessed; choice by
    choice."""
    told: list[Any] = []
    for event in sorted(events, key=lambda e: getattr(e, "index", 99)):
        last = told[-1] if told else None
        match event, last:
            case Completed(), _:
                told.append(event.usage)
            case Delta(index, channel), Delta(same, alike) if (index, channel) == (same, alike):
                told[-1] = last.followed_by(event)
            case _:
                told.append(event)
    return told


ANSWER = "one two three STOP four five"


@pytest.mark.parametrize("wrong_at", [0, 2, 99])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"stop": ("STOP",)},
        {"stop": ("three STOP f",)},
        {"max_tokens": 9},
        {"max_tokens": 1},
        {"logprobs": 2},
        {"n": 2},
        {"cache_prompt": False},
    ],
    ids=str,
)
def test_what_ends_in_the_middle_of_guesses_ends_there(
    tmp_path: Path,
    guessing: Callable[[Guesser], None],
    fields: dict[str, Any],
    wrong_at: int,
) -> None:
    backend = scripted(tmp_path, {"say": ANSWER})
    guessing(nothing)
    _, (expected,) = run(backend, Request("x" * 20, **fields))
    guessing(knowing(ANSWER + "<more>", wrong_at=wrong_at))
    bench, (events,) = run(backend, Request("x" * 20, **fields))
    assert seen(events) == seen(expected)
    # What was kept is what was said: the conversation goes on from there.
    said = text(events)
    again = bench.submit(Request("x" * 20 + said + " and then?"))
    bench.run()
    if fields.get("cache_prompt", True):
        assert completed(bench.events(again)).usage.cached_tokens >= 20 + len(said) - 1


def test_several_tokens_come_in_one_step_and_are_counted(
    tmp_path: Path, guessing: Callable[[Guesser], None]
) -> None:
    guessing(knowing("abcdefghij", 4, wrong_at=3))
    bench, (events,) = run(scripted(tmp_path, {"say": "abcdefghij"}), Request("x"))
    # a | bcd, e | fgh, i | j and the end
    counts = [sum(len(i.delta.text) for i in step.items if i.delta) for step in bench.steps]
    assert counts == [4, 4, 2]
    timings = completed(events).timings
    assert (timings.draft_n, timings.draft_n_accepted) == (10, 8)
    assert timings.predicted_n == 11


def test_without_guesses_none_are_counted(tmp_path: Path) -> None:
    _, (events,) = run(scripted(tmp_path, {"say": "abc"}), Request("x"))
    timings = completed(events).timings
    assert (timings.draft_n, timings.draft_n_accepted) == (0, 0)


scripts: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    say=st.text(st.sampled_from("ab é<"), max_size=30),
    letters=st.integers(0, 30),
    then=st.sampled_from(["end", "repeat"]),
)
requests = st.builds(
    Request,
    st.sampled_from(["ab ab", "abababab é", "x"]),
    sampling=st.builds(SamplingOptions, seed=st.integers(0, 3)),
    max_tokens=st.integers(1, 60),
    stop=st.lists(st.text("ab é", min_size=1, max_size=5), max_size=2).map(tuple),
    n=st.integers(1, 2),
    logprobs=st.sampled_from([None, 0, 2]),
)


@settings(max_examples=60)
@given(scripts, st.lists(requests, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_any_guesses_leave_every_answer_as_it_is(
    tmp_path_factory: pytest.TempPathFactory,
    rule: dict[str, Any],
    asked: list[Request],
    numbers: random.Random,
) -> None:
    folder = tmp_path_factory.mktemp("script")

    def anything(sequence: Sequence) -> list[int]:
        """The truth as the script has it, with faults, or what the text suggests, or noise."""
        if numbers.random() < 0.4:
            return lookup(sequence)
        done = len(sequence.tokens) - sequence.prompt_length
        coming = list((rule["say"] * 9).encode())[done : done + numbers.randrange(10)]
        if coming and numbers.random() < 0.5:
            coming[numbers.randrange(len(coming))] = 97
        return coming

    outcomes: list[Any] = []
    for guesser in (nothing, anything):
        with pytest.MonkeyPatch.context() as patch:

            class Told(Drafter):
                said = staticmethod(guesser)

                def choose(self, sequences: Series[Sequence]) -> list[list[int]]:
                    return [self.said(each)[:9] for each in sequences]

            patch.setattr(loop, "Drafter", Told)
            _, events = run(scripted(folder, rule, context=2000), *asked)
            outcomes.append([[text(e, i) for i in range(2)] for e in events])
            outcomes.append([completed(e).usage.completion_tokens for e in events])
    assert outcomes[:2] == outcomes[2:]


def test_text_that_suggests_itself_stays_what_it_is(
    backend: Backend, guessing: Callable[[Guesser], None]
) -> None:
    """On every backend: seeds, penalties, choices and stop strings."""
    # Of four tokens that differ in nothing else, so that what was written says what may come.
    tags = (("<think>", 100.0), ("</think>", 100.33), ("<tool_call>", 100.66))
    lively = SamplingOptions(temperature=1, seed=4, logit_bias=tags)
    penalized = SamplingOptions(temperature=1, seed=5, logit_bias=tags, frequency_penalty=0.1)
    greedy = SamplingOptions(temperature=0, logit_bias=tags, frequency_penalty=0.2)
    asked = [
        Request("the land and the hour", lively, max_tokens=60),
        Request("the land and", penalized, max_tokens=60, stop=("</think><think><tool_call>",)),
        Request("an " * 20, greedy, max_tokens=50, n=2),
    ]
    guessing(nothing)
    expected = [run(backend, request)[1][0] for request in asked]
    guessing(lookup)
    found = [run(backend, request)[1][0] for request in asked]
    assert [text(e) for e in found] == [text(e) for e in expected]
    assert [finished(e) for e in found] == [finished(e) for e in expected]
    assert sum(completed(e).timings.draft_n for e in found) > 0
    together = run(backend, *asked)[1]
    assert [finished(e).completion_tokens for e in together] == [
        finished(e).completion_tokens for e in expected
    ]


def test_a_request_that_is_cancelled_leaves_the_others_as_they_are(
    tmp_path: Path, guessing: Callable[[Guesser], None]
) -> None:
    guessing(knowing("y" * 100, 3, wrong_at=2))
    backend = scripted(tmp_path, {"when": "ever", "say": "y", "then": "repeat"}, {"say": "y" * 50})
    bench = Bench(backend)
    endless = bench.submit(Request("for ever", n=2))
    other = bench.submit(Request("other"))
    bench.on_step = lambda _step: bench.forget(endless) if len(bench.steps) == 5 else None
    bench.run()
    assert text(bench.events(other)) == "y" * 50


def watched(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> list[list[Chunk]]:
    """What is launched from now on."""
    steps: list[list[Chunk]] = []
    launch = backend.launch

    def note(chunks: Any) -> None:
        launch(chunks)
        steps.append(list(chunks))

    monkeypatch.setattr(backend, "launch", note)
    return steps


def test_nothing_is_guessed_while_a_prompt_is_read(
    tmp_path: Path, guessing: Callable[[Guesser], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    guessing(knowing("y" * 100, 3))
    backend = scripted(tmp_path, {"say": "y" * 80}, context=4000)
    steps = watched(backend, monkeypatch)
    bench = Bench(backend)
    bench.submit(Request("x"))

    def another(_step: Step) -> None:
        if len(steps) == 3:
            bench.submit(Request("z" * 900))

    bench.on_step = another
    bench.run()
    assert any(chunk.drafts for step in steps for chunk in step)
    reading = [step for step in steps if any(len(c.tokens) - c.drafts > 1 for c in step)]
    assert len(reading) > 2
    assert not any(chunk.drafts for step in reading for chunk in step)


def test_nobody_gives_way_to_a_guess(tmp_path: Path, guessing: Callable[[Guesser], None]) -> None:
    """Memory is full but for the tokens themselves: the kept prefix stays."""
    greedy = knowing("a" * 99, 20)
    guessing(lambda sequence: greedy(sequence) if sequence.prompt_length == 54 else [])
    backend = scripted(tmp_path, {"say": "a" * 30}, context=134)
    bench = Bench(backend)
    bench.submit(Request("k" * 40, max_tokens=10))
    bench.run()
    late = bench.submit(Request("x" * 54))
    bench.run()
    assert text(bench.events(late)) == "a" * 30
    again = bench.submit(Request("k" * 40, max_tokens=1))
    bench.run()
    assert completed(bench.events(again)).usage.cached_tokens == 39


def test_a_slot_that_cannot_be_cut_is_read_again(
    tmp_path: Path, guessing: Callable[[Guesser], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = scripted(tmp_path, {"say": ANSWER})
    guessing(knowing(ANSWER, 3, wrong_at=1))
    monkeypatch.setattr(backend, "truncate", lambda slot, length: False)
    _, (events,) = run(backend, Request("x" * 20))
    assert text(events) == ANSWER
    assert completed(events).usage.cached_tokens == 0


def test_memory_that_runs_out_at_a_guess_costs_nobody_anything(
    tmp_path: Path, guessing: Callable[[Guesser], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = scripted(tmp_path, {"say": ANSWER})
    guessing(knowing(ANSWER, 3))
    launch = backend.launch

    def tight(chunks: Any) -> None:
        if any(chunk.drafts for chunk in chunks):
            raise NoRoom
        launch(chunks)

    monkeypatch.setattr(backend, "launch", tight)
    _, (events,) = run(backend, Request("x" * 20))
    assert text(events) == ANSWER
    assert completed(events).timings.draft_n == 0
