"""Servers that are started: ready, ended, and what is said when they are not."""

import asyncio
import mmap
import os
import sys
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest

from hubserve_server.bench.memory import of_tree, watched
from hubserve_server.client.errors import CommandError
from hubserve_server.client.servers import Local, Up

TINY = """
import http.server, json, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"data": [{"id": "tiny"}]}).encode()
        there = self.path.endswith("/models")
        self.send_response(200 if there else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""A server without /health, with a child that it never ends."""


def local(*words: str) -> Local:
    return Local("it", (sys.executable, "-c", *words))


def up(site: Local, check: Callable[[Up], None]) -> None:
    async def run() -> None:
        async with site.up() as server:
            check(server)

    asyncio.run(run())


def test_it_is_up_for_the_block_and_nothing_of_it_is_left() -> None:
    seen: list[psutil.Process] = []

    def check(server: Up) -> None:
        assert server.client.model == "tiny"
        assert server.pid is not None and server.ready > 0
        process = psutil.Process(server.pid)
        seen.extend([process, *process.children()])
        assert of_tree(server.pid) > of_tree(seen[1].pid) > 2**20

    up(local(TINY, "{port}"), check)
    assert len(seen) == 2
    _, alive = psutil.wait_procs(seen, timeout=10)
    assert alive == []


def test_it_is_asked_again_and_again_whether_it_is_ready() -> None:
    """To wait for a server that does not listen yet holds up nothing: its start is timed."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    async def run() -> None:
        turning = asyncio.create_task(turn())
        async with local("import time; time.sleep(1)\n" + TINY, "{port}").up():
            turning.cancel()

    asyncio.run(run())
    assert turns > 10


def test_what_a_server_said_before_it_ended_is_passed_on() -> None:
    site = local("import sys; print('no such model'); sys.exit(3)", "{port}")
    with pytest.raises(CommandError, match="it ended with exit code 3; its last words: no such m"):
        up(site, lambda _: None)


SHOWS = """
import os, sys
print(*(os.environ.get(name) for name in ("HUBSERVE_API_KEY", "HUBSERVE_CACHE_DIR")))
sys.exit(1)
"""


@pytest.mark.parametrize(("key", "cache", "said"), [("k", "/c", "k /c"), (None, None, "None None")])
def test_ours_has_its_key_and_its_folder_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, key: str | None, cache: str | None, said: str
) -> None:
    """And never the user's own."""
    monkeypatch.setenv("HUBSERVE_API_KEY", "the user's")
    monkeypatch.setenv("HUBSERVE_CACHE_DIR", "/the/users")
    site = replace(local(SHOWS, "{port}"), key=key, cache=cache)
    with pytest.raises(CommandError, match=f"its last words: {said}$"):
        up(site, lambda _: None)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(CommandError, match="'/no/such/program' cannot be started: No such file"):
        up(Local("it", ("/no/such/program", "{port}")), lambda _: None)


def test_the_most_that_was_seen() -> None:
    async def run() -> int:
        async with watched(os.getpid()) as peak:
            # Pages of its own: a heap may have room that counts already, and keeps what is freed.
            with mmap.mmap(-1, 64 * 2**20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
                block[::4096] = b"x" * (len(block) // 4096)
                peak.look(os.getpid())
        return peak.bytes

    most = asyncio.run(run())
    assert most > of_tree(os.getpid()) + 48 * 2**20


def test_the_memory_of_what_has_ended() -> None:
    process = psutil.Popen([sys.executable, "-c", ""])
    process.wait()
    assert of_tree(process.pid) == 0
