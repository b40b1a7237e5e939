"""The client against servers of every kind, as bytes on a socket."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hubserve_server.client.client import Answer, Client
from hubserve_server.client.errors import CommandError

HI = [{"role": "user", "content": "Hi"}]
ROLE = b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'
TWO_TOKENS = b'data: {"choices":[{"delta":{"content":"ab"}}]}\n\n'
LENGTH = b'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\n'
STOP = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}\n\n'
DONE = b"data: [DONE]\n\n"


def served(
    body: bytes,
    ask: Callable[[Client], Coroutine[Any, Any, Any]],
    *,
    status: str = "200 OK",
    framing: str = "chunked",
    key: str | None = None,
) -> tuple[Any, bytes]:
    """What `ask` gave at a server that always answers `body`, and what the server was sent."""
    asked = b""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked = await reader.readuntil(b"\r\n\r\n")
        head = {
            "chunked": "Transfer-Encoding: chunked",
            "length": f"Content-Length: {len(body)}",
            "close": "Connection: close",
        }[framing]
        writer.write(f"HTTP/1.1 {status}\r\nServer: fake/1\r\n{head}\r\n\r\n".encode())
        # Cut at the worst places: each event in two.
        for start in range(0, len(body), 41):
            part = body[start : start + 41]
            framed = b"%x\r\n%b\r\n" % (len(part), part)
            writer.write(framed if framing == "chunked" else part)
            await writer.drain()
        if framing == "chunked":
            writer.write(b"0\r\n\r\n")
        writer.close()

    async def run() -> Any:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await ask(Client(f"http://127.0.0.1:{port}/v1", key))

    return asyncio.run(run()), asked


def chat(client: Client) -> Coroutine[Any, Any, Answer]:
    return client.chat(HI, 4)


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_tokens_are_counted_by_usage_and_not_by_pieces(framing: str) -> None:
    body = b": hello\n\n" + ROLE + TWO_TOKENS + TWO_TOKENS + LENGTH + USAGE + DONE
    answer, _ = served(body, chat, framing=framing)
    assert (answer.text, answer.tokens, answer.prompt_tokens) == ("abab", 4, 9)
    assert len(answer.arrivals) == 2
    assert answer.began < answer.arrivals[0] <= answer.arrivals[1] <= answer.ended


def test_a_rate_is_of_the_tokens_after_the_first() -> None:
    answer = Answer(10.0, (11.0, 12.0, 13.0), 13.5, "x", 21, 5)
    assert (answer.first, answer.rate) == (1.0, 10.0)


def test_without_usage_a_full_length_is_what_was_asked_for() -> None:
    answer, _ = served(ROLE + TWO_TOKENS + TWO_TOKENS + LENGTH + DONE, chat)
    assert answer.tokens == 4


def test_the_key_is_sent() -> None:
    body = TWO_TOKENS + USAGE + DONE
    _, asked = served(body, chat, key="secret")
    assert b"Authorization: Bearer secret\r\n" in asked
    assert asked.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("401 No", b'{"error":{"message":"Wrong key."}}', "answered 401: Wrong key. The key is"),
        ("404 No", b"<html>nothing</html>", "answered 404: <html>nothing</html>"),
        ("200 OK", ROLE + TWO_TOKENS, "broke the connection before an answer's end"),
        ("200 OK", ROLE + USAGE + DONE, "without any text"),
        ("200 OK", TWO_TOKENS + STOP + DONE, "sends no usage"),
        ("200 OK", b'data: {"error":{"message":"It died."}}\n\n', "ended an answer: It died."),
        ("200 OK", b"data: hello\n\n", "no chunk of a chat: b'hello'"),
    ],
)
def test_what_goes_wrong_is_one_sentence(status: str, body: bytes, said: str) -> None:
    with pytest.raises(CommandError) as caught:
        served(body, chat, status=status)
    assert said in str(caught.value)


def test_a_body_that_is_shorter_than_it_says() -> None:
    async def ask(client: Client) -> None:
        with pytest.raises(CommandError, match="broke the connection"):
            await client.get("/")

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(cut, "127.0.0.1", 0) as server:
            await ask(Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", None))

    asyncio.run(run())


def test_nobody_is_there() -> None:
    with pytest.raises(CommandError, match=r"Nothing listens at http://127.0.0.1:9/v1"):
        asyncio.run(Client("http://127.0.0.1:9", None).first_model())


def test_what_ended_the_server_is_said_where_it_is_known() -> None:
    client = Client("http://127.0.0.1:9", None, lambda: "It ended with exit code 3")
    with pytest.raises(CommandError, match="It ended with exit code 3"):
        asyncio.run(client.first_model())


def test_the_first_model_and_the_software() -> None:
    models, asked = served(b'{"data":[{"id":"a/b:c"},{"id":"d"}]}', Client.first_model)
    assert models == "a/b:c" and asked.startswith(b"GET /v1/models ")
    assert served(b'{"build_info":"b1-x"}', Client.software)[0] == "b1-x"
    assert served(b"{}", Client.software)[0] == "fake/1"
    with pytest.raises(CommandError, match="lists no model"):
        served(b'{"data":[]}', Client.first_model)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://x.example/api/v1", "https://x.example/api/v1"),
    ],
)
def test_a_base_url(url: str, base: str) -> None:
    assert Client(url, None).url == base


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://x:y", "http://["])
def test_what_is_no_base_url(url: str) -> None:
    with pytest.raises(CommandError, match="is not a base URL"):
        Client(url, None)
