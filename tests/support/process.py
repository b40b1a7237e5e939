"""The command as a person runs it: a process with a terminal's text and signals."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

SAFETY = 60.0
"""Seconds after which a test that hangs fails."""

READY = "Ctrl-C stops the server."


@dataclass
class Served:
    """A running server; `output` is what it printed until it was ready."""

    process: "subprocess.Popen[str]"
    output: str

    @property
    def url(self) -> str:
        found = re.search(r"http://\S+:\d+", self.output)
        assert found, self.output
        return found[0]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=SAFETY)

    def end(self, *signals: int) -> tuple[int, str, str]:
        """Exit code and the rest of what was printed, after the signals."""
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.05)
        out, err = self.process.communicate(timeout=SAFETY)
        return self.process.returncode, out, err


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "hubserve_server", "serve", *map(str, arguments)]


def script(folder: Path, *rules: dict[str, Any], **fields: Any) -> Path:
    """A model that says what it is told; see `hubserve_engine.backends.scripted`."""
    path = folder / "script.json"
    path.write_text(json.dumps({"rules": rules, **fields}))
    return path


@contextmanager
def spawned(*arguments: str | Path, env: dict[str, str] | None = None) -> "Iterator[Served]":
    """The process at once, whatever it is doing; it is ended with the block."""
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    with process:
        try:
            yield Served(process, "")
        finally:
            process.kill()


@contextmanager
def served(
    model: Path,
    *arguments: str | Path,
    env: dict[str, str] | None = None,
    engine: str = "scripted",
) -> "Iterator[Served]":
    """A model, ready, on a free port; a scripted one, where nothing else is said."""
    with spawned(model, "--engine", engine, "--port", "0", *arguments, env=env) as server:
        assert server.process.stdout is not None
        for line in server.process.stdout:
            server.output += line
            if READY in line:
                break
        assert READY in server.output, server.process.communicate(timeout=SAFETY)
        yield server
