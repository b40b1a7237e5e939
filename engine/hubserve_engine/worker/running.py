"""What a worker makes of a loaded model: requests taken in, steps run, states kept.

All that is needed for it, but not to load, is imported from here, while the model is loaded.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hubserve_engine.backends.base import Backend
from hubserve_engine.drafting import Drafter
from hubserve_engine.errors import LoadError, PromptError
from hubserve_engine.prefix_store.folder import CacheUnusable
from hubserve_engine.prefix_store.store import PrefixStore
from hubserve_engine.profiles import choose
from hubserve_engine.prompt import default
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.worker import protocol
from hubserve_engine.worker.channel import Channel
from hubserve_engine.worker.intake import Intake
from hubserve_engine.worker.keeper import Keeper
from hubserve_engine.worker.loop import Loop
from hubserve_engine.worker.reader import Reader

logger = logging.getLogger(__name__)

_FLUSH_SECONDS = 5.0


def prepare(load: protocol.Load, backend: Backend) -> tuple[Intake, protocol.Ready]:
    """What takes requests in, and what is told of the model. Raises LoadError."""
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
    return intake, ready


def run(
    load: protocol.Load,
    backend: Backend,
    intake: Intake,
    ready: protocol.Ready,
    channel: Channel,
    messages: Iterator[bytes],
) -> None:
    """Answers the `messages` until the server is gone."""
    keeper = Keeper(
        backend,
        max_gap=load.max_gap,
        kept=load.kept,
        memory=load.memory,
        store=_store(load, backend),
    )
    loop = Loop(
        backend,
        channel.send,
        max_gap=load.max_gap,
        keeper=keeper,
        preserved=intake.layout_tokens,
    )
    channel.send(ready)
    Reader(channel, backend, intake, loop).start(messages)
    loop.run()
    keeper.flush(_FLUSH_SECONDS)


def _store(load: protocol.Load, backend: Backend) -> PrefixStore | None:
    disk = load.disk
    if disk is None:
        return None
    try:
        return PrefixStore(Path(disk.folder), f"{disk.weights} {backend.state_key}", disk.limit)
    except CacheUnusable as error:
        logger.warning("no prefixes are kept: %s", error)
        return None
