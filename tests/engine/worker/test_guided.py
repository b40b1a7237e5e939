"""Guided choices in the loop: what must come is written without asking the model, in one step."""

from collections.abc import Sequence as Series
from pathlib import Path
from typing import Any

import pytest
from tests.support import process
from tests.support.backends import NAMES, load, tokens_of
from tests.support.guides import Rule, RuleGuide
from tests.support.loops import Bench, completed, finished, text

from hubserve_engine import backends
from hubserve_engine.backends.base import Backend, BackendConfig, Chunk
from hubserve_engine.types import Delta, Request, SamplingOptions


def scripted(folder: Path, *rules: dict[str, Any], context: int = 1000) -> Backend:
    file = process.script(folder, *rules)
    config = BackendConfig((str(file),), context_length=context, parallel=4, drafts=40)
    return backends.load("scripted", config, lambda _done: None)


def between(before: str, after: str, length: int, backend: Backend | None = None) -> Rule:
    """`before`, so many letters as the model likes, `after`, and no more."""
    letters: Series[int] = range(97, 123)
    first, last = list(before.encode()), list(after.encode())
    if backend is not None:
        letters = [tokens_of(backend, letter)[-1] for letter in "abcdefgh"]
        first, last = tokens_of(backend, before), tokens_of(backend, after)

    def rule(accepted: tuple[int, ...]) -> Series[int]:
        done = len(accepted)
        if done < len(first):
            return first[done:][:1]
        if done < len(first) + length:
            return letters
        return last[done - len(first) - length :][:1]

    return rule


def submit(bench: Bench, request: Request, rule: Rule) -> int:
    generation = bench.prepare(request)
    for sequence in generation.choices:
        sequence.guide = RuleGuide(bench.vocabulary, rule)
    return bench.take(generation)


class Counted:
    """Counts the steps of a backend, and the tokens of each."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[int] = []
        launch = backend.launch

        def counted(chunks: Series[Chunk]) -> None:
            self.steps.append(sum(len(chunk.tokens) for chunk in chunks))
            launch(chunks)

        monkeypatch.setattr(backend, "launch", counted)


def test_what_must_come_is_read_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = scripted(tmp_path, {"say": "hello"})
    counted = Counted(backend, monkeypatch)
    bench = Bench(backend)
    id = submit(bench, Request("x" * 20), between('{"name": "', '", "more": true}', 5))
    bench.run()
    events = bench.events(id)
    assert text(events) == '{"name": "hello", "more": true}'
    assert finished(events).reason == "stop"
    assert completed(events).usage.completion_tokens == len(text(events))
    # The prompt; what comes before the name; its five letters, the last without a step of its own.
    assert counted.steps[-5:] == [10, 1, 1, 1, 1]
    assert sum(counted.steps[:-5]) == 20


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fields", [{}, {"n": 3}, {"logprobs": 1}, {"cache_prompt": False}])
def test_the_text_is_that_which_comes_token_by_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fields: dict[str, Any]
) -> None:
    backend = load(name, tmp_path)
    rule = between("ab cd", " ef gh", 6, backend)
    request = Request("x y " * 12, sampling=SamplingOptions(seed=5, temperature=1.0), **fields)
    found = []
    for _ in range(2):
        bench = Bench(backend)
        id = submit(bench, request, rule)
        bench.run()
        events = bench.events(id)
        found.append([text(events, index) for index in range(request.n)])
        monkeypatch.setattr(RuleGuide, "forced", lambda _self: [])
    assert found[0] == found[1]
    assert all(each.startswith("ab cd") and each.endswith(" ef gh") for each in found[0])
    if fields == {"logprobs": 1}:
        tokens = [each for e in events if isinstance(e, Delta) for each in e.logprobs]
        assert "".join(each.chosen.piece.decode() for each in tokens) == text(events)
    backend.close()


@pytest.mark.parametrize(
    ("limit", "reason"), [(1, "length"), (4, "length"), (10, "length"), (11, "stop"), (30, "stop")]
)
def test_an_answer_that_is_cut_off_says_so(tmp_path: Path, limit: int, reason: str) -> None:
    bench = Bench(scripted(tmp_path, {"say": "xyz"}))
    id = submit(bench, Request("x" * 20, max_tokens=limit), between("abcd", "efgh", 3))
    bench.run()
    events = bench.events(id)
    assert text(events) == "abcdxyzefgh"[:limit]
    assert finished(events).reason == reason
    assert finished(events).completion_tokens == min(limit, 11)


def test_a_stop_string_in_what_must_come_ends_the_answer(tmp_path: Path) -> None:
    bench = Bench(scripted(tmp_path, {"say": "xyz"}))
    id = submit(bench, Request("x" * 20, stop=("zef",)), between("abcd", "efgh", 3))
    bench.run()
    assert text(bench.events(id)) == "abcdxy"
    assert finished(bench.events(id)).stop == "zef"


def test_one_that_gave_way_to_others_goes_on_where_it_was(tmp_path: Path) -> None:
    backend = scripted(tmp_path, {"letters": 500}, context=160)
    bench = Bench(backend)
    rule = between("the beginning", "the end, which is as long as that", 20)
    ids = [submit(bench, Request(f"{number}" * 20), rule) for number in range(4)]
    bench.run()
    for id in ids:
        said = text(bench.events(id))
        assert said.startswith("the beginning") and said.endswith("as long as that")
        assert len(said) == 13 + 20 + 33
        assert finished(bench.events(id)).reason == "stop"


def test_a_stream_with_much_to_follow_does_not_wait_for_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = scripted(tmp_path, {"say": "hello", "seconds": 0.0001}, context=20_000)
    bench = Bench(backend)
    first = submit(bench, Request("x" * 20), between("a" * 40, "b" * 40, 3))
    second = bench.submit(Request("y" * 5000))
    order: list[int] = []
    bench.on_step = lambda step: order.extend(i.id for i in step.items if i.finished is not None)
    bench.run()
    assert order == [first, second]


def test_a_guide_that_fails_ends_its_request_with_the_reason(tmp_path: Path) -> None:
    bench = Bench(scripted(tmp_path, {"say": "hello"}))
    generation = bench.prepare(Request("x" * 20))

    class Failing(RuleGuide):
        error = "It is too complex."

    generation.choices[0].guide = Failing(bench.vocabulary, lambda _accepted: ())
    bench.take(generation)
    other = bench.submit(Request("y" * 20))
    bench.run()
    (failed,) = bench.failures
    assert failed.id == generation.id and failed.message == "It is too complex."
    assert text(bench.events(other)) == "hello"


def test_guesses_that_may_not_come_are_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = scripted(tmp_path, {"say": "one two three one two three one two four"})
    bench = Bench(backend)

    def no_t_after_two(accepted: tuple[int, ...]) -> Series[int] | None:
        if len(accepted) == 40:
            return ()
        return [n for n in range(32, 123) if n != ord("w")] if len(accepted) > 20 else None

    id = submit(bench, Request("one two three " * 4), no_t_after_two)
    bench.run()
    said = text(bench.events(id))
    assert len(said) == 40 and "w" not in said[21:]
