"""The server over a real socket, in a thread of the test's process."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx

from hubserve_server.engine import Engine
from hubserve_server.http_server import http_server
from hubserve_server.listener import listen
from hubserve_server.settings import Settings

SAFETY = 30.0
"""Seconds after which a test that hangs fails."""


@contextlib.contextmanager
def live(engine: Engine, settings: Settings | None = None) -> Iterator[httpx.Client]:
    """A client of a server that runs as long as the block."""
    settings = settings or Settings()
    server = http_server(engine, settings)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        def serve() -> None:
            with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
                runner.run(server.serve(sockets=[listener]))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SAFETY) as client:
                yield client
        finally:
            server.should_exit = server.force_exit = True
            thread.join(SAFETY)
            assert not thread.is_alive()


def chat(client: httpx.Client, **fields: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    return client.post("/v1/chat/completions", json=body)


def events(text: str) -> list[Any]:
    """The JSON of a stream's data lines; the stream must end as it should."""
    lines = [line for line in text.split("\n") if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]", text
    assert all(line.startswith("data: ") for line in lines), text
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def stream(client: httpx.Client, **fields: Any) -> list[Any]:
    """The chunks of a streamed chat."""
    response = chat(client, stream=True, **fields)
    assert response.status_code == 200, response.text
    return events(response.text)


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The error object, after a check of its form."""
    body = response.json()
    assert set(body) >= {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["message"]
    return error
