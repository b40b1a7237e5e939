"""HTTP over an engine: uvicorn, as this server wants it. To import it takes a while."""

import contextlib
from collections.abc import Iterator

import uvicorn

from hubserve_server.app import create_app
from hubserve_server.connection import connections
from hubserve_server.engine import Engine
from hubserve_server.settings import Settings

KEEP_CONNECTION = 65
"""Seconds that an idle connection stays open: longer than clients keep theirs, so that no request
meets a connection that is just being closed."""


class HttpServer(uvicorn.Server):
    """uvicorn, without its own idea of what signals mean."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def cut_off(self) -> None:
        """Ends the connections that are left; their requests end as if the clients had gone."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def http_server(engine: Engine, settings: Settings) -> HttpServer:
    config = uvicorn.Config(
        create_app(engine, settings),
        http=connections(settings),
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_CONNECTION,
    )
    return HttpServer(config)
