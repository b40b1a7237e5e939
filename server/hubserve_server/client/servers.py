"""The servers that are measured: one that runs already, or one that is started for it."""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import IO, Protocol

import msgspec

from hubserve_engine.config import CACHE_VARIABLE
from hubserve_server.client.client import Client
from hubserve_server.client.errors import CommandError
from hubserve_server.settings import KEY_VARIABLE

OURS = (sys.executable, "-m", "hubserve_server")
"""The command `hubserve`, of this very environment."""

PORT = "{port}"
"""Stands for the port in the command of a server."""

GRACE = 20.0
"""Seconds that a server has to end after it was asked to."""

POLL = 0.01
"""Seconds between two questions whether a server is ready."""

LAST_WORDS = 4096
"""Bytes of a server's output that may explain its end."""


@dataclass(frozen=True, slots=True)
class Up:
    """A server that answers. `pid`, and the seconds from its start until it was ready, are known
    of one that was started here; `began` is when that was, by `time.perf_counter`."""

    client: Client
    pid: int | None = None
    began: float = 0.0
    ready: float = 0.0


class Server(msgspec.Struct, frozen=True):
    """A server in a report. `where` is its URL or command, `software` what it says it is."""

    label: str
    where: str
    model: str
    software: str


class Site(Protocol):
    """A server that can be up as long as a block lasts."""

    @property
    def label(self) -> str: ...

    @property
    def where(self) -> str:
        """The URL, or the command that starts it."""
        ...

    @property
    def starts(self) -> bool:
        """Whether a block starts a new process."""
        ...

    def up(self) -> AbstractAsyncContextManager[Up]: ...


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that someone else runs. `model` None asks for the first that it lists."""

    label: str
    where: str
    key: str | None = None
    model: str | None = None
    starts: bool = False

    @asynccontextmanager
    async def up(self) -> AsyncGenerator[Up, None]:
        client = Client(self.where, self.key)
        client.model = self.model or await client.first_model()
        yield Up(client)


@dataclass(frozen=True, slots=True)
class Local:
    """A server that `command` starts; one of its words has `{port}` in it.

    One of ours is given by its environment the key, so that no report has it, and the folder
    `cache` for what it keeps on disk.
    """

    label: str
    command: tuple[str, ...]
    key: str | None = None
    model: str | None = None
    cache: str | None = None
    starts: bool = True

    @property
    def where(self) -> str:
        words = self.command
        return shlex.join(("hubserve", *words[3:]) if words[:3] == OURS else words)

    @asynccontextmanager
    async def up(self) -> AsyncGenerator[Up, None]:
        port = free_port()
        command = [word.replace(PORT, str(port)) for word in self.command]
        with tempfile.TemporaryFile() as log:
            began = time.perf_counter()
            process = _start(command, self._environment(), log)
            try:
                url = f"http://127.0.0.1:{port}/v1"
                client = Client(url, self.key, lambda: self._because(process, log))
                if not await _ready(Client(url, self.key), process):
                    raise CommandError(self._end(process, log))
                ready = time.perf_counter() - began
                client.model = self.model or await client.first_model()
                yield Up(client, process.pid, began, ready)
            finally:
                _stop(process)

    def _environment(self) -> dict[str, str]:
        ours = {KEY_VARIABLE: self.key, CACHE_VARIABLE: self.cache}
        others = {name: value for name, value in os.environ.items() if name not in ours}
        return others | {name: value for name, value in ours.items() if value}

    def _because(self, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> str | None:
        """What ended the process, if it has ended or is about to: a connection breaks before."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return self._end(process, log)
        return None

    def _end(self, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> str:
        """How the process, which has ended, did so."""
        code = process.returncode
        log.seek(max(0, log.seek(0, os.SEEK_END) - LAST_WORDS))
        lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line]
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        said = f"; its last words: {lines[-1].strip()}" if lines else ""
        return f"{self.label} ended {how}{said}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(
    command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]
) -> "subprocess.Popen[bytes]":
    """In a session of its own, so that Ctrl-C reaches us alone, and we end the server."""
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(f"{command[0]!r} cannot be started: {error.strerror}.") from error


async def _ready(client: Client, process: "subprocess.Popen[bytes]") -> bool:
    """Waits, however long it takes, as a model may have to be fetched; False if the process ends.

    A server without `/health` is ready when it lists its models.
    """
    path = "/health"
    while process.poll() is None:
        with contextlib.suppress(CommandError):
            status, _, _ = await client.get(path)
            if status == 200:
                return True
            if status == 404:
                path = "/v1/models"
        await asyncio.sleep(POLL)
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Ends it as a user would, then by force, with whatever else is left of its session."""
    try:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
