"""The engine as the server sees it, over a scripted model in a real worker process."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.loop_fixtures import Run, run, runner
from tests.support.process import SAFETY, script
from tests.support.workers import text

from hubserve_engine.config import LONGEST_TEXT, MOST_TOKENS, EngineConfig, ModelConfig
from hubserve_engine.errors import (
    Busy,
    Cancelled,
    EngineError,
    InvalidRequest,
    LoadError,
    Loading,
    ModelNotFound,
    StartError,
    Unavailable,
    WorkerDied,
)
from hubserve_engine.service import Engine
from hubserve_engine.types import (
    Chat,
    Delta,
    Event,
    Finished,
    Message,
    Request,
    SamplingOptions,
    Started,
)

__all__ = ["run", "runner"]

Rules = list[dict[str, Any]]

SLOW: dict[str, Any] = {"when": "slow", "say": "0123456789", "seconds": 0.01}
ENDLESS: dict[str, Any] = {"when": "for ever", "say": "x", "then": "repeat", "seconds": 0.001}
LETTERS: dict[str, Any] = {"when": "letters", "letters": 300}
RULES: Rules = [SLOW, ENDLESS, LETTERS, {"say": "yes"}]


@pytest.fixture(scope="module")
def shared(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for all tests that leave it alive."""
    engine = engine_of(script(tmp_path_factory.mktemp("model"), *RULES), max_queue=6)
    runner.run(ready(engine))
    yield engine
    runner.run(engine.close())


def engine_of(file: Path, *, max_queue: int = 64, **fields: Any) -> Engine:
    model = ModelConfig(str(file), **{"context_length": 4096, "parallel": 2, **fields})
    return Engine(EngineConfig(model, max_queue=max_queue, engine="scripted"))


async def ready(engine: Engine) -> Engine:
    await engine.start()
    await engine.wait_ready()
    return engine


async def ask(engine: Engine, request: Request) -> list[Event]:
    async with aclosing(engine.generate(request)) as events:
        return [event async for event in events]


async def begun(engine: Engine, *requests: Request) -> list["asyncio.Task[list[Event]]"]:
    """Requests that hold or wait for a slot."""
    before = engine.active + engine.waiting
    tasks = [asyncio.create_task(ask(engine, request)) for request in requests]
    while engine.active + engine.waiting < before + len(requests):
        await asyncio.sleep(0)
    return tasks


async def end(tasks: "list[asyncio.Task[list[Event]]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def test_a_request_from_start_to_end(shared: Engine, run: Run[Any]) -> None:
    events: list[Event] = run(ask(shared, Request(Chat((Message("user", "Hi"),)))))
    assert isinstance(events[0], Started)
    assert {type(e) for e in events[1:-2]} == {Delta}
    assert isinstance(events[-2], Finished)
    assert text(events) == "yes"
    assert (shared.active, shared.waiting) == (0, 0)


def test_what_is_served_and_by_which_names(shared: Engine) -> None:
    info = shared.info
    assert shared.stage == "ready"
    assert (info.id, info.context_length, info.parallel) == ("script.json", 4096, 2)
    for name in (None, "", "default", "script.json", "script", "SCRIPT"):
        assert shared.served(name) is info
    with pytest.raises(ModelNotFound, match=r"'gpt-4'.*'script.json'"):
        shared.served("gpt-4")


def test_questions(shared: Engine, run: Run[Any]) -> None:
    tokens = run(shared.tokenize("é", add_special=True, parse_special=True))
    assert run(shared.pieces(tokens)) == [b"\xc3", b"\xa9"]
    assert run(shared.detokenize(tokens)) == "é"
    assert run(shared.detokenize(tokens[:1])) == "\ufffd"
    assert "Hi" in run(shared.render(Chat((Message("user", "Hi"),)))).text


def test_more_than_can_wait_are_refused_and_the_rest_is_served(
    shared: Engine, run: Run[Any]
) -> None:
    async def play() -> None:
        endless = await begun(shared, *[Request("for ever")] * 2)
        waiting = await begun(shared, *[Request("x")] * 6)
        assert (shared.active, shared.waiting) == (2, 6)
        for _ in range(3):
            with pytest.raises(Busy, match="running or waiting: 8"):
                await ask(shared, Request("x"))
        await end(endless)
        for task in waiting:
            assert text(await task) == "yes"
        assert (shared.active, shared.waiting) == (0, 0)

    run(play())


def test_a_request_that_is_refused_frees_its_place(shared: Engine, run: Run[Any]) -> None:
    for _ in range(10):
        with pytest.raises(InvalidRequest):
            run(ask(shared, Request("")))
    assert (shared.active, shared.waiting) == (0, 0)


def test_a_client_that_goes_frees_its_place(shared: Engine, run: Run[Any]) -> None:
    async def play() -> None:
        async with aclosing(shared.generate(Request("for ever", n=2))) as events:
            async for event in events:
                if isinstance(event, Delta):
                    break
            assert shared.active == 1
        assert shared.active == 0
        assert text(await ask(shared, Request("x"))) == "yes"

    run(play())


def test_an_answer_that_is_not_read_holds_no_place(shared: Engine, run: Run[Any]) -> None:
    async def play() -> None:
        async with aclosing(shared.generate(Request("x"))) as unread:
            events = [await anext(unread)]
            while shared.active:
                await asyncio.sleep(0.01)
            events += [event async for event in unread]
            assert text(events) == "yes"
        assert (shared.active, shared.waiting) == (0, 0)

    run(play())


def test_more_choices_than_slots(shared: Engine, run: Run[Any]) -> None:
    events: list[Event] = run(ask(shared, Request("letters", SamplingOptions(seed=1), n=9)))
    texts = [text(events, index) for index in range(9)]
    assert len(set(texts)) == 9
    assert sum(isinstance(event, Finished) for event in events) == 9


def test_before_it_is_ready_it_says_so(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        engine = engine_of(script(tmp_path, load_seconds=60))
        stages = [engine.stage]
        await engine.start()
        await asyncio.sleep(0.05)
        assert [*stages, engine.stage] == ["starting", "loading"]
        with pytest.raises(Loading):
            _ = engine.info
        with pytest.raises(Loading):
            await ask(engine, Request("x"))
        with pytest.raises(Loading):
            await engine.tokenize("x", add_special=True, parse_special=True)
        assert engine.active == 0
        await engine.close()

    run(play())


@pytest.mark.parametrize(
    ("fields", "template", "kind", "said"),
    [
        ({"load_error": "No such architecture."}, None, LoadError, "No such architecture"),
        ({}, b"{% if %}", LoadError, "chat template"),
        ({}, b"\xff\xfe", StartError, "cannot be read"),
    ],
    ids=["model", "template", "template file"],
)
def test_what_keeps_it_from_starting(
    run: Run[Any],
    tmp_path: Path,
    fields: dict[str, Any],
    template: bytes | None,
    kind: type[EngineError],
    said: str,
) -> None:
    chat_template = None
    if template is not None:
        chat_template = tmp_path / "template.jinja"
        chat_template.write_bytes(template)

    async def play() -> None:
        engine = engine_of(script(tmp_path, **fields), chat_template=chat_template)
        try:
            await ready(engine)
        finally:
            await engine.close()

    with pytest.raises(kind, match=said):
        run(play())


def test_memory_for_few_serves_many(run: Run[Any], tmp_path: Path) -> None:
    """Eight answers of 300 tokens share a context of 700: no one fails, all are whole."""

    async def play() -> tuple[list[str], list[str]]:
        engine = await ready(engine_of(script(tmp_path, *RULES, context=700), parallel=5))
        requests = [Request(f"letters {i}", SamplingOptions(seed=i)) for i in range(8)]
        singly = [text(await ask(engine, request)) for request in requests]
        together = await asyncio.gather(*(ask(engine, request) for request in requests))
        await engine.close()
        return singly, [text(events) for events in together]

    singly, together = run(play())
    assert together == singly
    assert len(set(singly)) == 8
    assert all(len(each) == 300 for each in singly)


def test_a_death_under_load_costs_those_that_ran(run: Run[Any], tmp_path: Path) -> None:
    others = set(psutil.Process().children())

    async def play() -> None:
        engine = await ready(engine_of(script(tmp_path, *RULES)))
        endless = (Request("1 for ever"), Request("2 for ever"))
        tasks = await begun(engine, *endless, *[Request("x")] * 6)
        await asyncio.sleep(0.1)
        (worker,) = set(psutil.Process().children()) - others
        worker.kill()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, WorkerDied) for result in results)
        assert engine.stage == "loading"
        assert text(await ask(engine, Request("x"))) == "yes"
        assert (engine.stage, engine.active, engine.restarts) == ("ready", 0, 1)
        await engine.close()

    run(play())


def test_a_model_that_keeps_dying_becomes_unavailable(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        die = {"when": "die", "then": "die"}
        engine = await ready(engine_of(script(tmp_path, die)))
        for _ in range(3):
            with pytest.raises(WorkerDied):
                await ask(engine, Request("die"))
        with pytest.raises(Unavailable):
            await ask(engine, Request("x"))
        assert (engine.stage, engine.active) == ("unavailable", 0)
        await engine.close()

    run(play())


def test_closing_lets_running_answers_end(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        engine = await ready(engine_of(script(tmp_path, *RULES)))
        tasks = await begun(engine, *[Request("slow")] * 3)
        closing = asyncio.create_task(engine.close(grace=SAFETY))
        await asyncio.sleep(0)
        with pytest.raises(Cancelled, match="stopping"):
            await ask(engine, Request("x"))
        assert [text(await task) for task in tasks] == ["0123456789"] * 3
        await closing

    run(play())


@pytest.mark.parametrize("grace", [0.0, 0.05])
def test_closing_ends_what_does_not_end_in_time(
    run: Run[Any], tmp_path: Path, grace: float
) -> None:
    async def play() -> None:
        engine = await ready(engine_of(script(tmp_path, *RULES)))
        tasks = await begun(engine, *[Request("for ever")] * 3)
        await engine.close(grace=grace)
        for task in tasks:
            with pytest.raises(Cancelled):
                await task

    run(play())


def test_closing_what_was_never_started(run: Run[Any], tmp_path: Path) -> None:
    run(engine_of(script(tmp_path)).close())


def test_more_than_one_question_may_hold_is_refused_with_the_limit(
    shared: Engine, run: Run[Any]
) -> None:
    with pytest.raises(InvalidRequest, match=str(LONGEST_TEXT)):
        run(shared.tokenize("a" * (LONGEST_TEXT + 1), add_special=False, parse_special=False))
    with pytest.raises(InvalidRequest, match=str(MOST_TOKENS)):
        run(shared.detokenize([65] * (MOST_TOKENS + 1)))
    assert run(shared.detokenize([65] * MOST_TOKENS)) == "A" * MOST_TOKENS


def test_questions_beyond_the_queue_are_turned_away(shared: Engine, run: Run[Any]) -> None:
    async def ask() -> list[object]:
        questions = (
            shared.tokenize("ab", add_special=False, parse_special=False) for _ in range(12)
        )
        return await asyncio.gather(*questions, return_exceptions=True)

    for _ in range(2):
        answers = run(ask())
        assert answers[:8] == [[97, 98]] * 8
        assert all(isinstance(answer, Busy) for answer in answers[8:])


def test_a_file_whose_name_is_no_text_is_refused_by_name(tmp_path: Path, run: Run[Any]) -> None:
    """A name goes into messages and replies, which are UTF-8."""
    file = tmp_path / os.fsdecode(b"mod\xffel.json")
    file.write_bytes(script(tmp_path, *RULES).read_bytes())
    engine = engine_of(file)
    with pytest.raises(StartError, match=r"mod\\udcffel.json' is not UTF-8; rename it"):
        run(ready(engine))
    run(engine.close())
