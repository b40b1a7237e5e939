"""What happens before there is a request, and what a client that stands still costs."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import SAFETY, live

from hubserve_server.connection import LARGEST_HEAD, connections
from hubserve_server.http_server import http_server
from hubserve_server.settings import Settings

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
BODY = b'{"messages": [{"role": "user", "content": "Hi"}], "stream": true}'


@contextmanager
def connected(client: httpx.Client, buffer: int | None = None) -> Iterator[socket.socket]:
    """A bare connection; `buffer` is how many bytes it takes in that nobody reads."""
    url = client.base_url
    with socket.socket() as connection:
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(SAFETY)
        connection.connect((url.host, url.port or 80))
        yield connection


def rest(connection: socket.socket) -> bytes:
    """What comes until the server closes, however it does that."""
    received = b""
    try:
        while data := connection.recv(1 << 16):
            received += data
    except ConnectionResetError:
        pass
    return received


def refusal(sent: bytes) -> tuple[int, str]:
    """Status and code of what is answered, which must be ours in form; the server goes on."""
    with live(FakeEngine()) as client, connected(client) as connection:
        connection.sendall(sent)
        head, _, body = rest(connection).partition(b"\r\n\r\n")
        assert client.get("/health").status_code == 200
    lines = head.decode().lower().split("\r\n")
    assert "content-type: application/json" in lines
    assert f"content-length: {len(body)}" in lines
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return int(head.split()[1]), error["code"]


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /h\xffealth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        POST + b"Content-Length: x\r\n\r\n",
        POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ],
)
def test_what_is_no_http_is_told_so_in_our_form(sent: bytes) -> None:
    if b"chunked" in sent:
        # The request has begun: there is nobody to tell but the application.
        with live(FakeEngine()) as client, connected(client) as connection:
            connection.sendall(sent)
            assert rest(connection) == b""
            assert client.get("/health").status_code == 200
    else:
        assert refusal(sent) == (400, "invalid_http")


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"X: " + b"x" * LARGEST_HEAD + b"\r\n\r\n",
        POST + b"X: " + b"x" * LARGEST_HEAD,
        POST + b"X: y\r\n" * (LARGEST_HEAD // 5),
        b"GET /" + b"x" * LARGEST_HEAD + b" HTTP/1.1\r\n\r\n",
        b"x" * (LARGEST_HEAD + 1),
    ],
    ids=["one", "unfinished", "many", "path", "method"],
)
def test_a_head_that_is_too_large_is_refused(sent: bytes) -> None:
    status, code = refusal(sent)
    if sent.startswith(b"x"):
        assert (status, code) == (400, "invalid_http")
    else:
        assert (status, code) == (431, "headers_too_large")


def test_a_large_head_and_a_large_body_are_read() -> None:
    with live(FakeEngine()) as client:
        headers = {"X": "x" * (LARGEST_HEAD - 1000)}
        body = {"messages": [{"role": "user", "content": "x" * 10 * LARGEST_HEAD}]}
        for _ in range(2):
            reply = client.post("/v1/chat/completions", json=body, headers=headers)
            assert reply.status_code == 200


def test_trailers_are_bounded_too() -> None:
    start = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n" % (len(BODY), BODY)
    with live(FakeEngine(stuck=True)) as client, connected(client) as connection:
        connection.sendall(start + chunk + b"0\r\nX: " + b"x" * 3 * LARGEST_HEAD)
        assert rest(connection) == b""


def test_a_client_that_takes_nothing_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine(content=("x" * 10_000,), endless=True)
    with live(engine, Settings(write_timeout=0.3)) as client:
        with connected(client, buffer=4096) as connection:
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            assert engine.left.wait(SAFETY)
        assert client.get("/health").json()["active"] == 0
    assert not caplog.records


class SlowTransport(asyncio.Transport):
    """One unsent byte leaves each time that somebody asks, `takes` times."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.aborted = asyncio.Event()
        self.unsent = 1000
        self.asked = -takes

    def get_write_buffer_size(self) -> int:
        self.asked += 1
        self.unsent -= self.asked <= 0
        return self.unsent

    def abort(self) -> None:
        self.aborted.set()


def test_a_client_that_reads_slowly_is_not() -> None:
    async def play() -> int:
        server = http_server(FakeEngine(), Settings(write_timeout=0.001))
        server.config.load()
        connection = connections(Settings(write_timeout=0.001))(
            server.config, server.server_state, {}
        )
        transport = SlowTransport(takes=20)
        connection.connection_made(transport)
        connection.pause_writing()
        await asyncio.wait_for(transport.aborted.wait(), SAFETY)
        return transport.unsent

    assert asyncio.run(play()) == 1000 - 20
