"""What the endpoints have in common: the engine, the settings, bodies, the log's note."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from hubserve_server.body import parse
from hubserve_server.engine import Engine
from hubserve_server.metrics import Metrics
from hubserve_server.note import Note, note_of
from hubserve_server.settings import Settings
from hubserve_server.wire.fields import Body

READ = ["GET", "HEAD"]
"""The methods of what only tells something. The HTTP library leaves out the body for HEAD."""

LARGE_BODY = 256 * 1024
"""Bytes from which on a body is read in a thread, so that other streams do not stop meanwhile."""


def _engine(request: Request) -> Engine:
    return cast(Engine, request.app.state.engine)


def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


def _note(request: Request) -> Note:
    return note_of(request.scope)


def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


TheEngine = Annotated[Engine, Depends(_engine)]
TheSettings = Annotated[Settings, Depends(_settings)]
TheNote = Annotated[Note, Depends(_note)]
TheMetrics = Annotated[Metrics, Depends(_metrics)]


def json_body(shape: type[Body]) -> Callable[[Request], Coroutine[Any, Any, Body]]:
    """A dependency that reads a body of any content type, as clients and proxies send it."""

    async def read(request: Request) -> Body:
        body = await request.body()
        if len(body) > LARGE_BODY:
            return await asyncio.to_thread(parse, shape, body)
        return parse(shape, body)

    return read
