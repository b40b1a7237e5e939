"""The application as a value: an engine and settings in, an ASGI application out."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp

from hubserve_engine.errors import EngineError
from hubserve_server.access_log import AccessLog
from hubserve_server.auth import Auth
from hubserve_server.body_limit import BodyLimit
from hubserve_server.disconnect import ClientGone
from hubserve_server.engine import Engine
from hubserve_server.errors import HttpError, on_error, on_http_exception
from hubserve_server.guard import Guard, origin_pattern
from hubserve_server.metrics import Metrics
from hubserve_server.routes import chat, completions, health, metrics, models, tokens
from hubserve_server.settings import LOCAL_ORIGINS, Settings

METHODS = ("GET", "POST", "DELETE", "OPTIONS")

Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]


def create_app(engine: Engine, settings: Settings) -> ASGIApp:
    """The server's whole HTTP side. Layers from the outside in:

    the log and the counts; who may talk to us (Host, Origin); CORS headers, on errors too; keys;
    the body's size; the endpoints.
    """
    handlers: dict[int | type[Exception], Handler] = {
        EngineError: on_error,
        HttpError: on_error,
        HTTPException: on_http_exception,
        ClientGone: on_client_gone,
        ClientDisconnect: on_client_gone,
        Exception: on_error,
    }
    api = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers=handlers,
    )
    api.state.engine = engine
    api.state.settings = settings
    api.state.metrics = counts = Metrics(engine)
    for resource in (chat, completions, models, tokens, health, metrics):
        api.include_router(resource.router)
    cors = CORSMiddleware(
        Auth(BodyLimit(api, settings), settings),
        allow_origin_regex=origin_pattern((*LOCAL_ORIGINS, *settings.cors_origins)),
        allow_methods=METHODS,
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=("Retry-After",),
    )
    return AccessLog(Guard(cors, settings), counts)


async def on_client_gone(request: Request, error: Exception) -> Response:
    """Nobody reads this; the status is nginx's, for the log."""
    return Response(status_code=499)
