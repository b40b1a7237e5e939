"""A worker's process that waits for its first message."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.process import SAFETY, script
from tests.support.workers import is_running, order

from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.errors import ResolveError
from hubserve_engine.service import Engine
from hubserve_engine.worker.handle import WorkerHandle
from hubserve_engine.worker.spawn import spawn


def test_it_ends_with_its_socket() -> None:
    spawned = spawn("scripted")
    assert is_running(spawned.process.pid)
    spawned.socket.close()
    assert spawned.process.wait(SAFETY) == 0


def test_discarded_it_is_gone() -> None:
    spawned = spawn("scripted")
    spawned.discard()
    assert spawned.process.returncode is not None


def test_a_handle_takes_it_and_starts_no_other(tmp_path: Path) -> None:
    async def use() -> None:
        spawned = spawn("scripted")
        handle = await WorkerHandle.start(order(script(tmp_path)), spawned=spawned)
        await handle.ready()
        assert handle.pid == spawned.process.pid
        await handle.close()

    asyncio.run(use())


def test_an_engine_that_finds_no_model_ends_it(tmp_path: Path) -> None:
    spawned = spawn("llama.cpp")
    config = EngineConfig(ModelConfig(str(tmp_path / "none.gguf")))

    async def use() -> None:
        engine = Engine(config, spawned=spawned)
        await engine.start()
        with pytest.raises(ResolveError):
            await engine.wait_ready()
        await engine.close()

    asyncio.run(use())
    assert spawned.process.returncode is not None


def test_to_import_it_costs_no_heavy_import() -> None:
    code = "import sys, hubserve_engine.worker.spawn as _; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"asyncio", "msgspec", "numpy", "psutil"} & set(found.stdout.split())
