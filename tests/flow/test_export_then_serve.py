"""A checkpoint that is named to be served, from the folder to the answer."""

import json
import random
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.support.checkpoints import checkpoint
from tests.support.hub_repo import Repo
from tests.support.hub_server import HubServer
from tests.support.process import READY, SAFETY, Served, spawned

THREADS = ("-t", "1", "-c", "512", "-np", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(checkpoint("llama"), tmp_path / "Tiny-Llama")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def starting() -> Iterator[ExitStack]:
    """Whatever is started ends with the test."""
    with ExitStack() as stack:
        yield stack


def start(
    stack: ExitStack,
    model: Path | str,
    cache: Path,
    *options: str,
    env: dict[str, str] | None = None,
) -> Served:
    arguments = (str(model), "--port", "0", "--cache-dir", str(cache), *THREADS, *options)
    return stack.enter_context(spawned(*arguments, env=env))


def until_ready(server: Served) -> None:
    assert server.process.stdout is not None
    for line in server.process.stdout:
        server.output += line
        if READY in line:
            return
    pytest.fail(f"it ended: {server.process.communicate(timeout=SAFETY)}")


def whole(cache: Path) -> list[Path]:
    """Exports that are noted as whole."""
    return [path.parent for path in cache.glob("exports/*/export.json")]


def test_a_folder_is_exported_once_and_answers(
    starting: ExitStack, folder: Path, cache: Path
) -> None:
    server = start(starting, folder, cache)
    until_ready(server)
    assert "Tiny-Llama" in server.output and "Q8_0" in server.output
    with server.client() as client:
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        answer = client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200
        assert answer.json()["usage"]["completion_tokens"] > 0
        # By the checkpoint's own template.
        rendered = client.post("/apply-template", json={"messages": body["messages"]})
        assert rendered.json()["prompt"].startswith("<|im_start|>user\nHi<|im_end|>")
    _, _, said = server.end(signal.SIGTERM)
    assert "Exporting Tiny-Llama to q8_0" in said
    assert len(whole(cache)) == 1

    # By the type's name, too.
    again = start(starting, f"{folder}:Q8_0", cache)
    until_ready(again)
    _, _, said = again.end(signal.SIGTERM)
    assert "Exporting" not in said


def test_two_servers_of_a_repository_at_once_make_one_export(
    starting: ExitStack, folder: Path, cache: Path, tmp_path: Path
) -> None:
    hub = starting.enter_context(HubServer({"owner/Tiny-Llama": Repo.of_folder(folder)}))
    env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
    options = ("--export-type", "f16")
    servers = [start(starting, "owner/Tiny-Llama", cache, *options, env=env) for _ in range(2)]
    for server in servers:
        until_ready(server)
    said = "".join(server.end(signal.SIGTERM)[2] for server in servers)
    assert said.count("Exporting owner/Tiny-Llama to f16") == 1
    (export,) = whole(cache)
    assert sorted(path.name for path in export.iterdir()) == ["Tiny-Llama-F16.gguf", "export.json"]


def test_the_server_answers_meanwhile_and_a_kill_leaves_nothing_broken(
    starting: ExitStack, folder: Path, cache: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    # The last --port counts.
    server = start(starting, folder, cache, "--port", port)
    health = until_exporting(server, f"http://127.0.0.1:{port}/health")
    assert health["status"] == "loading model" and 0 <= health["progress"] <= 1
    end = time.monotonic() + SAFETY
    while not list(cache.glob("exports/*/*.partial")):
        assert time.monotonic() < end and server.process.poll() is None
        time.sleep(0.01)
    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.kill()
    server.process.wait()
    _, alive = psutil.wait_procs(children, timeout=SAFETY)
    assert not alive
    assert not whole(cache)
    again = start(starting, folder, cache)
    until_ready(again)
    (export,) = whole(cache)
    assert sorted(path.name for path in export.iterdir()) == ["Tiny-Llama-Q8_0.gguf", "export.json"]


def test_a_server_that_is_ended_meanwhile_leaves_nothing(
    starting: ExitStack, folder: Path, cache: Path
) -> None:
    server = start(starting, folder, cache, "--export-type", "q4_k_m")
    child = exporter(server)
    end = time.monotonic() + SAFETY
    while not list(cache.glob("exports/*/*.partial/*")):
        assert time.monotonic() < end and server.process.poll() is None
        time.sleep(0.01)
    code, _, said = server.end(signal.SIGTERM)
    assert code == 0 and "Traceback" not in said and not child.is_running()
    # Locks stay.
    assert not [path for path in cache.glob("exports/*") if path.is_dir()]


@pytest.mark.parametrize("kind", ["q8_0", "q4_k_m"])
def test_an_export_that_is_killed_ends_the_start_and_leaves_nothing_broken(
    starting: ExitStack, folder: Path, cache: Path, kind: str
) -> None:
    options = ("--export-type", kind)
    chance = random.Random(kind)
    # From what it takes undisturbed, so that all of it is met.
    first = start(starting, folder, cache, *options)
    begun, child = time.monotonic(), exporter(first)
    child.wait(SAFETY)
    took = time.monotonic() - begun
    until_ready(first)
    first.end(signal.SIGTERM)
    killed = 0
    for part in range(4):
        shutil.rmtree(cache)
        server = start(starting, folder, cache, *options)
        child = exporter(server)
        time.sleep(took * (part + chance.random()) / 4)
        if not child.is_running():
            until_ready(server)
            server.end(signal.SIGTERM)
            continue
        children = child.children(recursive=True)
        child.kill()
        code, _, said = server.end()
        if code != 2:
            # All was said and done.
            assert whole(cache)
            continue
        killed += 1
        last = said.splitlines()[-1]
        assert last.startswith("hubserve: 'Tiny-Llama' cannot be exported: Exporting Tiny-Llama ")
        assert "failed: its process was killed, most likely for want of memory" in last
        assert "Traceback" not in said and not whole(cache)
        _, alive = psutil.wait_procs(children, timeout=SAFETY)
        assert not alive
    assert killed
    again = start(starting, folder, cache, *options)
    until_ready(again)
    (export,) = whole(cache)
    name = f"Tiny-Llama-{kind.upper()}.gguf"
    assert sorted(path.name for path in export.iterdir()) == [name, "export.json"]
    assert list(cache.glob("exports/*/")) == [export]


def exporter(server: Served) -> psutil.Process:
    """The process that makes the export, once there is one."""
    end = time.monotonic() + SAFETY
    while time.monotonic() < end and server.process.poll() is None:
        for child in psutil.Process(server.process.pid).children(recursive=True):
            with suppress(psutil.Error):
                if "exporting" in child.cmdline():
                    return child
        time.sleep(0.005)
    return pytest.fail(f"it is not exporting: {server.process.poll()}")


def until_exporting(server: Served, url: str) -> dict[str, Any]:
    end = time.monotonic() + SAFETY
    while time.monotonic() < end and server.process.poll() is None:
        with suppress(httpx.TransportError):
            found: dict[str, Any] = httpx.get(url, timeout=SAFETY).json()
            if found["stage"] == "exporting":
                return found
        time.sleep(0.01)
    return pytest.fail(f"it is not exporting: {server.process.poll()}")


def test_what_cannot_be_exported_ends_the_start_with_a_sentence(
    starting: ExitStack, folder: Path, cache: Path
) -> None:
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_act": "tanh"}))
    server = start(starting, folder, cache)
    code, _, said = server.end()
    assert code == 2
    assert said.splitlines()[-1].startswith("hubserve: 'Tiny-Llama' cannot be exported: ")
    assert "Traceback" not in said and not list(cache.glob("exports/*/*"))


@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="limits of others: Linux alone")
def test_a_disk_that_is_full_ends_the_start_with_a_sentence(
    starting: ExitStack, folder: Path, cache: Path
) -> None:
    server = start(starting, folder, cache)
    # What is exported is larger; all that is written before that is not.
    psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_FSIZE, (100_000, 100_000))
    code, _, said = server.end()
    assert code == 2
    last = said.splitlines()[-1]
    assert last.startswith("hubserve: 'Tiny-Llama' cannot be exported: ")
    assert "cannot be written: File too large; " in last and "--cache-dir" in last
    assert "Traceback" not in said and not list(cache.glob("exports/*/*"))
    again = start(starting, folder, cache)
    until_ready(again)
