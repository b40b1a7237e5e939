"""The worker process: one model, a main thread that steps it, and a `Reader` beside it.

When the server's end of the socket closes, the process ends.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from hubserve_engine import backends
from hubserve_engine.backends.base import Backend
from hubserve_engine.drafting import Drafter
from hubserve_engine.errors import EngineError, LoadError, PromptError
from hubserve_engine.prefix_store.folder import CacheUnusable
from hubserve_engine.prefix_store.store import PrefixStore
from hubserve_engine.profiles import choose
from hubserve_engine.prompt import default
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.worker import protocol
from hubserve_engine.worker.account import account
from hubserve_engine.worker.channel import Channel
from hubserve_engine.worker.failures import failure
from hubserve_engine.worker.intake import Intake
from hubserve_engine.worker.keeper import Keeper
from hubserve_engine.worker.loop import Loop
from hubserve_engine.worker.reader import Reader

_SWITCH_SECONDS = 0.001
_FLUSH_SECONDS = 5.0


def main(descriptor: int, backend: str | None = None) -> None:
    """Serve the model that the first message names, over the socket with this descriptor.

    The message will most likely ask for `backend`, which is imported before it comes.
    """
    # These go to whole groups of processes; the server decides when a worker ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # While the reader renders a template the stepping thread must get the interpreter back soon.
    sys.setswitchinterval(_SWITCH_SECONDS)
    channel = Channel(socket.socket(fileno=descriptor))
    if backend is not None:
        with suppress(ImportError):  # to load it will fail likewise, when there is somebody to tell
            backends.find(backend)
    messages = channel.receive()
    body = next(messages, None)
    if body is None:
        return
    load = protocol.decode_to_worker(body)
    assert isinstance(load, protocol.Load)
    with _ending(channel):
        try:
            model, intake, ready = _load(load, channel)
        except EngineError as error:
            channel.send(failure(None, error))
            return
        store = _store(load, model)
        keeper = Keeper(
            model, max_gap=load.max_gap, kept=load.kept, memory=load.memory, store=store
        )
        loop = Loop(
            model,
            channel.send,
            max_gap=load.max_gap,
            keeper=keeper,
            preserved=intake.layout_tokens,
        )
        channel.send(ready)
        Reader(channel, model, intake, loop).start(messages)
        loop.run()
        keeper.flush(_FLUSH_SECONDS)


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
        print(f"hubserve worker: {account(error)}", file=sys.stderr, flush=True)
        code = 1
    channel.flush(_FLUSH_SECONDS)
    # Nothing is left to save, and freeing gigabytes one by one takes longer than leaving.
    os._exit(code)


def _load(load: protocol.Load, channel: Channel) -> tuple[Backend, Intake, protocol.Ready]:
    """Raises LoadError."""

    def progress(done: float) -> None:
        try:
            channel.send(protocol.Progress(done))
        except BrokenPipeError:
            os._exit(0)  # nobody waits for this model any more

    backend = backends.load(load.backend, load.config, progress)
    loaded = backend.loaded
    source = load.chat_template or loaded.chat_template or default.CHATML
    profile = choose(source, loaded.special_tokens)
    notices = loaded.notices
    if source is default.CHATML:
        profile = replace(profile, stops=default.STOPS)
        notices = (*notices, default.NOTICE)
    try:
        template = ChatTemplate(
            source,
            bos=loaded.bos,
            eos=loaded.eos,
            profile=profile,
            may_exit=True,
        )
    except PromptError as error:
        raise LoadError(f"{error.message} Give another with --chat-template-file.") from error
    intake = Intake(
        backend,
        template,
        sampling=load.sampling,
        reasoning=load.reasoning,
        reasoning_budget=load.reasoning_budget,
        reasoning_format=load.reasoning_format,
    )
    ready = protocol.Ready(
        loaded=loaded,
        context_length=backend.capabilities.context_length,
        draft_max=Drafter(backend.capabilities).most,
        chat_template=source,
        thinking_tags=template.profile.thinking_tags,
        thinking_switch=template.thinking_switch,
        tool_format=template.tool_format.name,
        notices=notices,
    )
    return backend, intake, ready


def _store(load: protocol.Load, backend: Backend) -> PrefixStore | None:
    disk = load.disk
    if disk is None:
        return None
    try:
        return PrefixStore(Path(disk.folder), f"{disk.weights} {backend.state_key}", disk.limit)
    except CacheUnusable as error:
        print(f"hubserve worker: no prefixes are kept: {error}", file=sys.stderr, flush=True)
        return None
