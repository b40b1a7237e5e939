"""The worker process: one model, a main thread that loads and steps it, others beside it.

When the server's end of the socket closes, the process ends.
"""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread

from hubserve_engine import backends
from hubserve_engine.errors import EngineError
from hubserve_engine.worker import protocol
from hubserve_engine.worker.account import account
from hubserve_engine.worker.channel import Channel
from hubserve_engine.worker.failures import failure

logger = logging.getLogger(__name__)

_SWITCH_SECONDS = 0.001
_FLUSH_SECONDS = 5.0


def main(descriptor: int, backend: str | None = None) -> None:
    """Serve the model that the first message names, over the socket with this descriptor.

    The message will most likely ask for `backend`, which is imported before it comes.
    """
    # These go to whole groups of processes; the server decides when a worker ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # The lines of the server's log, between which these stand.
    logging.basicConfig(
        format="%(asctime)s %(levelname)s worker: %(message)s",
        datefmt="%H:%M:%S",
        stream=sys.stderr,
    )
    # While the reader renders a template the stepping thread must get the interpreter back soon.
    sys.setswitchinterval(_SWITCH_SECONDS)
    channel = Channel(socket.socket(fileno=descriptor))
    with _ending(channel):
        if backend is not None:
            with suppress(ImportError):  # to load it fails likewise, with somebody to tell
                backends.find(backend)
        # The rest is imported while the main thread waits for its message and for llama.cpp.
        Thread(target=_import_rest, name="import", daemon=True).start()
        messages = channel.receive()
        if (body := next(messages, None)) is not None:
            load = protocol.decode_to_worker(body)
            assert isinstance(load, protocol.Load)
            _serve(load, channel, messages)


def _import_rest() -> None:
    with suppress(Exception):  # the main thread will meet the same one
        import_module("hubserve_engine.worker.running")


def _serve(load: protocol.Load, channel: Channel, messages: Iterator[bytes]) -> None:
    try:
        backend = backends.load(load.backend, load.config, _progress(channel))
        from hubserve_engine.worker import running

        intake, ready = running.prepare(load, backend)
    except EngineError as error:
        channel.send(failure(None, error))
        return
    running.run(load, backend, intake, ready, channel, messages)


def _progress(channel: Channel) -> Callable[[float], None]:
    def tell(done: float) -> None:
        try:
            channel.send(protocol.Progress(done))
        except BrokenPipeError:
            os._exit(0)  # nobody waits for this model any more

    return tell


@contextmanager
def _ending(channel: Channel) -> Iterator[None]:
    """Ends the process after the block: with 1 and a line if it failed, with 0 if all is said or
    the server is gone."""
    code = 0
    try:
        yield
    except BrokenPipeError:
        pass
    except BaseException as error:
        logger.error("the process ends: %s", account(error))
        code = 1
    channel.flush(_FLUSH_SECONDS)
    # Nothing is left to save, and freeing gigabytes one by one takes longer than leaving.
    os._exit(code)
