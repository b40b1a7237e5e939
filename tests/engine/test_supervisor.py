"""Workers that die, over real processes."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.backends import FIXTURES
from tests.support.loop_fixtures import Run, run, runner
from tests.support.process import script
from tests.support.workers import collect, is_running, order, text

from hubserve_engine import supervisor as supervisor_module
from hubserve_engine.errors import Cancelled, EngineError, LoadError, Unavailable, WorkerDied
from hubserve_engine.supervisor import Supervisor
from hubserve_engine.types import Request
from hubserve_engine.worker.handle import WorkerHandle

__all__ = ["run", "runner"]

ENDLESS: dict[str, Any] = {"when": "for ever", "say": "x", "then": "repeat", "seconds": 0.001}
YES: dict[str, Any] = {"say": "yes"}


def supervised(file: Path) -> Supervisor:
    return Supervisor(order(file))


def test_it_tells_how_much_is_loaded(run: Run[Any]) -> None:
    async def play() -> None:
        tiny = FIXTURES / "tiny-llama.gguf"
        supervisor = Supervisor(replace(order(tiny, context=256), backend="llama.cpp"))
        assert (supervisor.loaded, supervisor.ready) == (0.0, False)
        await supervisor.start()
        assert (supervisor.loaded, supervisor.ready) == (1.0, True)
        await supervisor.close()

    run(play())


def test_it_is_not_ready_until_the_next_worker_is(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        supervisor = supervised(script(tmp_path, YES))
        await supervisor.start()
        await kill(supervisor)
        assert (supervisor.ready, supervisor.restarts) == (False, 0)
        await supervisor.worker()
        assert (supervisor.ready, supervisor.restarts) == (True, 1)
        await supervisor.close()

    run(play())


async def kill(supervisor: Supervisor) -> None:
    """End the worker, and wait until that is known."""
    worker = await supervisor.worker()
    os.kill(worker.pid, signal.SIGKILL)
    await worker.ended.wait()


def test_the_next_request_is_served_by_a_new_worker(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        supervisor = supervised(script(tmp_path, ENDLESS, YES))
        await supervisor.start()
        first = await supervisor.worker()
        running = [asyncio.create_task(collect(first, Request("for ever"))) for _ in range(6)]
        await asyncio.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
        # At once, before anything else has had its turn.
        with pytest.raises(WorkerDied):
            await running[0]
        second = await supervisor.worker()
        assert second is not first
        assert text(await collect(second, Request("x"))) == "yes"
        results = await asyncio.gather(*running, return_exceptions=True)
        assert all(isinstance(result, WorkerDied) for result in results)
        assert supervisor.available
        await supervisor.close()
        assert not is_running(second.pid)

    run(play())


def test_three_deaths_within_a_minute_are_the_last(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        supervisor = supervised(script(tmp_path))
        await supervisor.start()
        for _ in range(3):
            await kill(supervisor)
        for _ in range(2):
            with pytest.raises(Unavailable, match="3 times within a minute"):
                await supervisor.worker()
        assert not supervisor.available
        await supervisor.close()

    run(play())


def test_deaths_now_and_then_are_borne(
    run: Run[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "_WITHIN", 0.0)  # as if each were a minute later

    async def play() -> None:
        supervisor = supervised(script(tmp_path))
        await supervisor.start()
        for _ in range(4):
            await kill(supervisor)
        assert (await supervisor.worker()).alive
        await supervisor.close()

    run(play())


def test_deaths_while_loading_count(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        file = script(tmp_path)
        supervisor = supervised(file)
        await supervisor.start()
        # From now on it dies as it loads.
        start = WorkerHandle.start

        async def doomed(*arguments: Any) -> WorkerHandle:
            handle = await start(*arguments)
            os.kill(handle.pid, signal.SIGKILL)
            return handle

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerHandle, "start", doomed)
            await kill(supervisor)
            with pytest.raises(Unavailable):
                await supervisor.worker()
        await supervisor.close()

    run(play())


def test_a_model_that_cannot_be_loaded_again_is_unavailable(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        supervisor = supervised(script(tmp_path))
        await supervisor.start()
        script(tmp_path, load_error="The file is gone.")
        await kill(supervisor)
        with pytest.raises(Unavailable, match="The file is gone"):
            await supervisor.worker()
        await supervisor.close()

    run(play())


def test_a_process_that_cannot_be_started_again_makes_it_unavailable(
    run: Run[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_arguments: Any) -> WorkerHandle:
        raise BlockingIOError("Resource temporarily unavailable")

    async def play() -> None:
        supervisor = supervised(script(tmp_path))
        await supervisor.start()
        monkeypatch.setattr(WorkerHandle, "start", refused)
        await kill(supervisor)
        with pytest.raises(Unavailable, match="temporarily unavailable"):
            await supervisor.worker()
        await supervisor.close()

    run(play())


def test_the_first_load_tells_what_is_wrong(run: Run[Any], tmp_path: Path) -> None:
    async def refused() -> None:
        supervisor = supervised(script(tmp_path, load_error="No such architecture."))
        try:
            await supervisor.start()
        finally:
            await supervisor.close()

    with pytest.raises(LoadError, match="No such architecture"):
        run(refused())


def test_a_death_in_the_first_load_is_most_likely_memory(run: Run[Any], tmp_path: Path) -> None:
    start = WorkerHandle.start

    async def doomed(*arguments: Any) -> WorkerHandle:
        handle = await start(*arguments)
        os.kill(handle.pid, signal.SIGKILL)
        return handle

    async def play() -> None:
        supervisor = supervised(script(tmp_path, load_seconds=60))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerHandle, "start", doomed)
            with pytest.raises(LoadError, match="--ctx-size"):
                await supervisor.start()
        await supervisor.close()

    run(play())


def test_who_waits_for_a_worker_is_answered_when_it_closes(run: Run[Any], tmp_path: Path) -> None:
    async def play() -> None:
        supervisor = supervised(script(tmp_path))
        await supervisor.start()
        script(tmp_path, load_seconds=60)
        await kill(supervisor)
        waiting = asyncio.create_task(supervisor.worker())
        await asyncio.sleep(0.05)
        await supervisor.close()
        with pytest.raises(Cancelled):
            await waiting

    run(play())


def test_closing_while_it_loads_leaves_no_process(run: Run[Any], tmp_path: Path) -> None:
    pids: list[int] = []
    start = WorkerHandle.start

    async def noted(*arguments: Any) -> WorkerHandle:
        handle = await start(*arguments)
        pids.append(handle.pid)
        return handle

    async def play() -> None:
        supervisor = supervised(script(tmp_path, load_seconds=60))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerHandle, "start", noted)
            loading = asyncio.create_task(supervisor.start())
            while not pids:
                await asyncio.sleep(0.01)
            loading.cancel()
            await supervisor.close()
            with pytest.raises((asyncio.CancelledError, EngineError)):
                await loading

    run(play())
    assert not is_running(pids[0])
