"""Bodies that are too large, announced or not."""

import socket
from collections.abc import Iterator

import pytest
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import SAFETY, error_of, live

from hubserve_server.settings import Settings

SETTINGS = Settings(max_body=1000)


def test_an_announced_length_is_refused_before_the_body_comes() -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n"
    with live(FakeEngine(), SETTINGS) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=SAFETY) as connection:
            connection.sendall(head)
            reply = b"".join(iter(lambda: connection.recv(4096), b""))
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b'"request_too_large"' in reply


def test_a_body_that_is_too_large_is_refused() -> None:
    with live(FakeEngine(), SETTINGS) as client:
        response = client.post("/v1/chat/completions", content=b"x" * 1001)
        assert response.status_code == 413
        assert error_of(response)["code"] == "request_too_large"
        assert client.get("/health").status_code == 200


def test_a_body_in_chunks_is_counted() -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 100

    with live(FakeEngine(), SETTINGS) as client:
        response = client.post("/v1/chat/completions", content=chunks())
        assert response.status_code == 413
        assert error_of(response)["code"] == "request_too_large"
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize("size", [0, 940])
def test_what_fits_is_read(size: int) -> None:
    body = {"messages": [{"role": "user", "content": "x" * size}]}
    with live(FakeEngine(), SETTINGS) as client:
        assert client.post("/v1/chat/completions", json=body).status_code == 200
