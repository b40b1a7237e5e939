"""The life of the server process: a socket, an engine, HTTP over both, and an orderly end."""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hubserve_engine.model_info import ModelInfo
from hubserve_engine.threads import in_thread
from hubserve_engine.units import counted
from hubserve_server import progress
from hubserve_server.engine import Engine
from hubserve_server.settings import LAST_WORDS, Settings

if TYPE_CHECKING:
    from hubserve_server.http_server import HttpServer

logger = logging.getLogger(__name__)

FORCED = 130
"""The exit code after a second Ctrl-C, as shells have it."""

PATIENCE = 10.0
"""Seconds beyond the grace in which an engine that is asked to close has to have done so."""


class Signals:
    """The first Ctrl-C or SIGTERM asks for an end, the second for one at once."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._came)

    def _came(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


def configure_logging(settings: Settings) -> None:
    """Our own lines at the level that was asked for, those of libraries from warnings on."""
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr
    )
    for package in ("hubserve_server", "hubserve_engine", "hubserve_exporters"):
        logging.getLogger(package).setLevel(settings.log_level.upper())


def run(engine: Engine, settings: Settings, listener: socket.socket) -> int:
    """Serves until a signal ends it; the exit code. Raises `StartError` if the model fails."""
    configure_logging(settings)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(engine, settings, listener))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """As uvicorn chooses it, which is not imported yet."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _serve(engine: Engine, settings: Settings, listener: socket.socket) -> int:
    signals = Signals()
    loading = asyncio.create_task(_load(engine, settings, listener.getsockname()[1]))
    # What answers HTTP takes as long to import as a small model to load, and connections can wait.
    server = await in_thread(lambda: _http_server(engine, settings))
    # What is there now stays: the garbage collector need not walk over it.
    gc.freeze()
    gc.enable()
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    asked = asyncio.create_task(signals.first.wait())
    ready = False
    try:
        await asyncio.wait({loading, serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            loading.result()
            ready = True
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loading.cancel()
        forced = await _stop(engine, server, signals, settings.grace if ready else 0.0)
        await _finish(server, serving)
        for task in (loading, asked):
            task.cancel()
        await asyncio.gather(loading, asked, return_exceptions=True)
    return FORCED if forced else 0


def _http_server(engine: Engine, settings: Settings) -> "HttpServer":
    from hubserve_server.http_server import http_server

    return http_server(engine, settings)


async def _load(engine: Engine, settings: Settings, port: int) -> None:
    """Ends when the model answers, and the terminal has said so."""
    telling = asyncio.create_task(progress.tell(engine))
    try:
        await engine.start()
        info = await engine.wait_ready()
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    await in_thread(lambda: _show_banner(info, settings, port))  # requests need not wait for it


def _show_banner(info: ModelInfo, settings: Settings, port: int) -> None:
    from rich.console import Console

    from hubserve_server import banner

    banner.show(Console(), info, settings, port)


async def _stop(engine: Engine, server: "HttpServer", signals: Signals, grace: float) -> bool:
    """Takes no new connections, lets running requests end, closes the engine.

    True if a second signal cut that short.
    """
    server.should_exit = True
    running = engine.active + engine.waiting
    if grace and running:
        print(
            f"Stopping: waiting up to {grace:g} s for {counted(running, 'request')} to end."
            " Ctrl-C again stops at once.",
            file=sys.stderr,
            flush=True,
        )
    closing = asyncio.create_task(engine.close(grace=grace))
    again = asyncio.create_task(signals.second.wait())
    await asyncio.wait(
        {closing, again}, timeout=grace + PATIENCE, return_when=asyncio.FIRST_COMPLETED
    )
    forced = again.done()
    if not closing.done():
        closing.cancel()
        closing = asyncio.create_task(engine.close(grace=0.0))
        await asyncio.wait({closing}, timeout=LAST_WORDS)
    for task in (closing, again):
        task.cancel()
    await asyncio.wait({closing, again}, timeout=LAST_WORDS)
    return forced


async def _finish(server: "HttpServer", serving: asyncio.Task[None]) -> None:
    """Answers that ended with the engine still leave; a client that reads nothing is not kept."""
    await asyncio.wait({serving}, timeout=LAST_WORDS)
    server.cut_off()
    await asyncio.wait({serving}, timeout=LAST_WORDS)
    server.force_exit = True
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
