"""A worker that is begun before the arguments are read."""

import subprocess
import sys

import pytest
from tests.support.workers import is_running

from hubserve_engine.worker.spawn import Spawned, spawn
from hubserve_server import ahead


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Spawned]:
    """The processes that come into being."""
    processes: list[Spawned] = []

    def record(backend: str) -> Spawned:
        processes.append(spawn("scripted"))
        return processes[-1]

    monkeypatch.setattr(ahead, "spawn", record)
    return processes


def test_it_is_the_one_that_is_taken_and_outlives_the_block(begun: list[Spawned]) -> None:
    with ahead.begun(["model.gguf", "-c", "4096"]):
        assert len(begun) == 1
        taken = ahead.worker("llama.cpp")
    assert taken is begun[0]
    assert is_running(taken.process.pid)
    taken.discard()
    assert len(begun) == 1


def test_the_next_is_a_new_one(begun: list[Spawned]) -> None:
    with ahead.begun(["model.gguf"]):
        workers = [ahead.worker("llama.cpp"), ahead.worker("llama.cpp")]
    assert workers == begun
    for worker in workers:
        worker.discard()


def test_nobody_took_it_so_it_ends(begun: list[Spawned]) -> None:
    with pytest.raises(SystemExit), ahead.begun(["model.gguf", "--port", "wrong"]):
        sys.exit(2)
    (left,) = begun
    assert left.process.returncode is not None


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["-h"],
        ["--version"],
        ["model", "--engine", "transformers"],
        ["model", "--engine=scripted"],
    ],
)
def test_none_is_begun_that_is_not_wanted(begun: list[Spawned], arguments: list[str]) -> None:
    with ahead.begun(arguments):
        assert not begun


def test_it_waits_for_no_import() -> None:
    code = "import sys, hubserve_server.cli as _; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"typer", "asyncio", "hubserve_engine.types"} & set(found.stdout.split())
