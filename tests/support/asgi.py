"""One request to the application, without a socket."""

import asyncio
import json
from typing import Any

import httpx

from hubserve_server.app import create_app
from hubserve_server.engine import Engine
from hubserve_server.settings import Settings


def ask(
    engine: Engine,
    method: str,
    path: str,
    *,
    settings: Settings | None = None,
    headers: dict[str, str] | None = None,
    content: bytes | None = None,
    body: Any = None,
) -> httpx.Response:
    """The whole reply; `body` is sent as JSON, `content` as it is."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(
            create_app(engine, settings or Settings()), raise_app_exceptions=False
        )
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost:8000"
        ) as client:
            data = content if body is None else json.dumps(body).encode()
            return await client.request(method, path, headers=headers, content=data)

    return asyncio.run(send())
