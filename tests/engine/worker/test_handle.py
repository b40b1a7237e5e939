"""The server's end of a worker, over real processes."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.support.loop_fixtures import Run, run, runner
from tests.support.process import SAFETY, script
from tests.support.workers import collect, is_running, order, text

from hubserve_engine.errors import (
    Cancelled,
    ContextOverflow,
    EngineError,
    InvalidRequest,
    LoadError,
    PromptError,
    WorkerDied,
)
from hubserve_engine.types import Chat, Completed, Delta, Event, Message, Request, Started
from hubserve_engine.worker import handle as handle_module
from hubserve_engine.worker import protocol
from hubserve_engine.worker.handle import WorkerHandle

__all__ = ["run", "runner"]

ENDLESS = {"when": "for ever", "say": "x", "then": "repeat", "seconds": 0.001}
# Were it not ended, it would take minutes.
LONG = {"when": "~", "say": "x", "then": "repeat", "seconds": 0.05}
FAST = {"when": "fast", "say": "x", "then": "repeat"}
DIE = {"when": "die", "say": "aaaa", "then": "die", "seconds": 0.02}
RULES: list[dict[str, Any]] = [
    ENDLESS,
    LONG,
    FAST,
    DIE,
    {"when": "letters", "letters": 40},
    {"say": "yes"},
]


@pytest.fixture(scope="module")
def shared(
    runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerHandle]:
    """One worker for all tests that leave it alive."""
    file = script(tmp_path_factory.mktemp("model"), *RULES)
    handle = runner.run(started(file))
    yield handle
    runner.run(handle.close())


async def started(file: Path, **fields: Any) -> WorkerHandle:
    handle = await WorkerHandle.start(order(file, **fields))
    await handle.ready()
    return handle


def test_a_request_is_answered_from_start_to_end(shared: WorkerHandle, run: Run[Any]) -> None:
    events: list[Event] = run(collect(shared, Request("hello")))
    assert events[0] == Started(5)
    assert text(events) == "yes"
    assert [type(event) for event in events].count(Completed) == 1


def test_many_requests_at_once_are_not_mixed_up(shared: WorkerHandle, run: Run[Any]) -> None:
    async def ask() -> list[list[Event]]:
        requests = [Request(f"{i}", n=2) for i in range(20)]
        return await asyncio.gather(*(collect(shared, request) for request in requests))

    for i, events in enumerate(run(ask())):
        assert events[0] == Started(len(str(i)))
        assert text(events, 0) == text(events, 1) == "yes"


def test_closing_the_iterator_ends_the_work(shared: WorkerHandle, run: Run[Any]) -> None:
    """All slots are taken by endless answers; only when these end can others begin."""

    async def ask() -> list[Event]:
        for _ in range(3):
            async with aclosing(shared.generate(Request("~", n=4))) as events:
                async for event in events:
                    if isinstance(event, Delta):
                        break
        return await collect(shared, Request("hello"))

    assert text(run(ask())) == "yes"


def test_a_cancelled_task_ends_the_work_too(shared: WorkerHandle, run: Run[Any]) -> None:
    async def ask() -> list[Event]:
        tasks = [asyncio.create_task(collect(shared, Request("~"))) for _ in range(4)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        return await collect(shared, Request("hello"))

    assert text(run(ask())) == "yes"


def test_an_iterator_that_was_never_begun_asks_for_nothing(
    shared: WorkerHandle, run: Run[Any]
) -> None:
    async def ask() -> list[Event]:
        await shared.generate(Request("for ever")).aclose()
        return await collect(shared, Request("hello"))

    assert text(run(ask())) == "yes"


def test_questions(shared: WorkerHandle, run: Run[Any]) -> None:
    tokens = run(shared.tokenize("a<|im_end|>", add_special=True, parse_special=True))
    assert len(tokens) == 2
    assert run(shared.pieces(tuple(tokens))) == [b"a", b"<|im_end|>"]
    rendered = run(shared.render(Chat((Message("user", "Hi"),))))
    assert rendered.text.endswith("<|im_start|>assistant\n")


def test_refusals_come_as_what_they_are(shared: WorkerHandle, run: Run[Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        run(shared.pieces((10**6,)))
    assert refused.value.param == "tokens"
    with pytest.raises(PromptError):
        run(shared.render(Chat(())))
    with pytest.raises(ContextOverflow) as overflow:
        run(collect(shared, Request("x" * 5000)))
    assert (overflow.value.needed, overflow.value.limit) == (5001, 4096)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800"], ids=str)
def test_a_value_that_cannot_be_sent_is_the_requests_fault(
    shared: WorkerHandle, run: Run[Any], value: object
) -> None:
    chat = Chat((Message("user", "x"),), template_arguments={"a": value})
    for work in (collect(shared, Request(chat)), shared.render(chat)):
        with pytest.raises(InvalidRequest):
            run(work)
    assert text(run(collect(shared, Request("x")))) == "yes"


def test_large_prompts_and_answers_pass(shared: WorkerHandle, run: Run[Any]) -> None:
    words = "x" * (1 << 20)
    with pytest.raises(ContextOverflow):
        run(collect(shared, Request(words)))
    tokens = run(shared.tokenize(words, add_special=False, parse_special=True))
    assert len(tokens) == len(words)
    assert b"".join(run(shared.pieces(tuple(tokens)))) == words.encode()


def test_a_client_that_does_not_read_is_cancelled_and_others_go_on(
    shared: WorkerHandle, run: Run[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle_module, "_MOST_UNREAD", 5)

    async def ask() -> list[list[Event]]:
        gone = asyncio.Event()
        async with aclosing(shared.generate(Request("fast"), over=gone.set)) as unread:
            await anext(unread)
            answers = [await collect(shared, Request("letters")) for _ in range(15)]
            await asyncio.wait_for(gone.wait(), SAFETY)
            read = 0
            with pytest.raises(Cancelled, match="did not read"):
                async for _event in unread:
                    read += 1
            assert read == 5
            return answers

    assert all(len(text(events)) == 40 for events in run(ask()))


def test_a_large_prompt_is_answered(run: Run[Any], tmp_path: Path) -> None:
    async def ask() -> list[Event]:
        handle = await started(script(tmp_path, {"say": "yes"}), context=1 << 17)
        try:
            return await collect(handle, Request("x" * 100_000))
        finally:
            await handle.close()

    assert text(run(ask())) == "yes"


def test_a_worker_that_is_killed_answers_everyone_with_an_error(
    run: Run[Any], tmp_path: Path
) -> None:
    async def ask() -> list[object]:
        handle = await started(script(tmp_path, *RULES), slots=2)
        tasks = [asyncio.create_task(collect(handle, Request("for ever"))) for _ in range(5)]
        tasks_beside = asyncio.create_task(forever(handle))
        await asyncio.sleep(0.1)
        os.kill(handle.pid, signal.SIGKILL)
        results = await asyncio.gather(*tasks, tasks_beside, return_exceptions=True)
        assert handle.ended.is_set() and not handle.alive
        with pytest.raises(WorkerDied):
            await collect(handle, Request("hello"))
        with pytest.raises(WorkerDied):
            await handle.tokenize("a", add_special=False, parse_special=False)
        await handle.close()
        return list(results)

    async def forever(handle: WorkerHandle) -> None:
        while True:
            await handle.tokenize("a", add_special=False, parse_special=False)

    for error in run(ask()):
        assert isinstance(error, WorkerDied)
        assert "signal 9" in error.message


def test_a_worker_that_ends_by_itself_tells_how(run: Run[Any], tmp_path: Path) -> None:
    async def ask() -> list[Event]:
        handle = await started(script(tmp_path, *RULES))
        seen: list[Event] = []
        with pytest.raises(WorkerDied, match="exit code 1"):
            async for event in handle.generate(Request("die")):
                seen.append(event)
        await handle.close()
        return seen

    assert any(isinstance(event, Delta) for event in run(ask()))


def test_closing_answers_with_cancelled_and_ends_the_process(run: Run[Any], tmp_path: Path) -> None:
    async def ask() -> int:
        handle = await started(script(tmp_path, *RULES))
        task = asyncio.create_task(collect(handle, Request("for ever")))
        await asyncio.sleep(0.05)
        await handle.close()
        with pytest.raises(Cancelled):
            await task
        with pytest.raises(Cancelled):
            await collect(handle, Request("hello"))
        await handle.close()
        return handle.pid

    assert not is_running(run(ask()))


def test_closing_ends_a_process_that_hangs(run: Run[Any], tmp_path: Path) -> None:
    async def ask() -> int:
        handle = await started(script(tmp_path))
        os.kill(handle.pid, signal.SIGSTOP)
        await handle.close(seconds=0.05)
        return handle.pid

    assert not is_running(run(ask()))


def test_closing_with_an_unread_stream_ends(
    run: Run[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(handle_module, "_MOST_UNREAD", 1)

    async def ask() -> None:
        handle = await started(script(tmp_path, FAST))
        async with aclosing(handle.generate(Request("fast"))) as events:
            await anext(events)
            await handle.close()

    run(ask())
    assert not caplog.records


def test_a_worker_that_talks_nonsense_is_ended(
    run: Run[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> int:
        handle = await started(script(tmp_path, *RULES))

        def nonsense(body: bytes) -> None:
            raise ValueError("no message")

        monkeypatch.setattr(protocol, "decode_from_worker", nonsense)
        with pytest.raises(EngineError):
            await collect(handle, Request("hello"))
        await handle.ended.wait()
        return handle.pid

    assert not is_running(run(ask()))
    assert "make no sense" in caplog.text


@pytest.mark.parametrize(
    ("fields", "template", "said"),
    [
        ({"load_error": "The architecture 'abc' is not known."}, None, "'abc' is not known"),
        ({}, "{% if %}", "--chat-template-file"),
    ],
    ids=["backend", "template"],
)
def test_what_cannot_be_loaded_says_why(
    run: Run[Any], tmp_path: Path, fields: dict[str, Any], template: str | None, said: str
) -> None:
    async def load() -> None:
        handle = await WorkerHandle.start(order(script(tmp_path, **fields), template=template))
        try:
            await handle.ready()
        finally:
            await handle.close()

    with pytest.raises(LoadError, match=said):
        run(load())


def test_a_worker_that_dies_while_loading(run: Run[Any], tmp_path: Path) -> None:
    async def load() -> None:
        handle = await WorkerHandle.start(order(script(tmp_path, load_seconds=60)))
        os.kill(handle.pid, signal.SIGKILL)
        try:
            await handle.ready()
        finally:
            await handle.close()

    with pytest.raises(WorkerDied, match="signal 9"):
        run(load())


def test_a_question_that_is_too_long_is_refused(
    shared: WorkerHandle, run: Run[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LARGEST", 10000)
    with pytest.raises(InvalidRequest, match="10000"):
        run(shared.tokenize("a" * 20000, add_special=False, parse_special=False))
    with pytest.raises(InvalidRequest, match="10000"):
        run(collect(shared, Request("a" * 20000)))
    assert text(run(collect(shared, Request("hello")))) == "yes"


def test_a_question_that_nobody_waits_for_is_taken_back(
    shared: WorkerHandle, run: Run[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[protocol.ToWorker] = []
    send = WorkerHandle._send

    def seen(handle: WorkerHandle, message: protocol.ToWorker) -> None:
        sent.append(message)
        send(handle, message)

    async def ask() -> None:
        task = asyncio.create_task(shared.render(Chat((Message("user", "x"),))))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    monkeypatch.setattr(WorkerHandle, "_send", seen)
    run(ask())
    question, cancel = sent
    assert isinstance(question, protocol.Render)
    assert cancel == protocol.Cancel(question.id)
