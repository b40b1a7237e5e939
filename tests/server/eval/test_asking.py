"""Answers as clients put them together, and what they choke on."""

import asyncio
import json
from typing import Any

import pytest

from hubserve_server.client.answers import Call, Function
from hubserve_server.client.client import Client
from hubserve_server.client.errors import CommandError
from hubserve_server.eval.asking import Made, Reply, ask, join

WHOLE = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def asked(body: bytes, *, streamed: bool, status: int = 200) -> Reply:
    """What a client makes of a server that answers `body`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        sent = json.loads(await reader.readexactly(int(head.partition(b"Length: ")[2].split()[0])))
        assert sent["messages"] == [] and sent.get("stream", False) == streamed
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
        writer.close()

    async def run() -> Reply:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await ask(Client(f"http://127.0.0.1:{port}", None), {"messages": []}, **how)

    how = {"streamed": streamed}
    return asyncio.run(run())


def events(*chunks: dict[str, Any]) -> bytes:
    lines = [f"data: {json.dumps({'choices': [chunk]})}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def test_a_whole_answer() -> None:
    message = {"content": None, "tool_calls": [WHOLE], "reasoning_content": "Hm."}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    assert asked(body, streamed=False) == Reply(
        reasoning="Hm.", calls=(Made("c", "f", "{}"),), finish_reason="tool_calls"
    )


def test_a_streamed_answer() -> None:
    piece = {"index": 0, "function": {"arguments": "2}"}}
    first = {**WHOLE, "function": {"name": "f", "arguments": '{"a": '}}
    body = events(
        {"delta": {"content": "Wait"}},
        {"delta": {"content": "."}},
        {"delta": {"tool_calls": [first]}},
        {"delta": {"tool_calls": [piece]}},
        {"delta": {}, "finish_reason": "tool_calls"},
    )
    assert asked(body, streamed=True) == Reply(
        "Wait.", calls=(Made("c", "f", '{"a": 2}'),), finish_reason="tool_calls"
    )


@pytest.mark.parametrize(
    ("pieces", "fault"),
    [
        ([Call(None, "c", None, Function("f"))], "with the index None"),
        ([Call(1, "c", None, Function("f"))], "with the index 1"),
        ([Call(0, None, None, Function("f"))], "has no name or no id"),
        ([Call(0, "c", None, Function("f")), Call(0, "c", None, Function("f"))], "more than once"),
    ],
)
def test_pieces_that_clients_drop_or_double(pieces: list[Call], fault: str) -> None:
    _, faults = join(pieces)
    assert fault in faults[0]


def test_two_calls_of_one_id() -> None:
    message = {"tool_calls": [WHOLE, {**WHOLE, "index": 1}]}
    body = json.dumps({"choices": [{"message": message}]}).encode()
    assert asked(body, streamed=False).faults == ("calls without an id of their own",)


def test_a_stream_without_an_end() -> None:
    assert asked(events({"delta": {"content": "a"}}), streamed=True).faults == (
        "0 finish reasons in a stream",
    )


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (500, b'{"error": {"message": "It does not parse."}}', "answered 500: It does not parse."),
        (200, b'data: {"choices": 1}\n\n{"choices": 1}', "what is no"),
    ],
)
def test_a_refusal_is_the_answer_to_that_request(
    streamed: bool, status: int, body: bytes, fault: str
) -> None:
    (said,) = asked(body, streamed=streamed, status=status).faults
    assert fault in said


def test_a_server_that_is_not_there_ends_it() -> None:
    with pytest.raises(CommandError, match="Nothing listens"):
        asyncio.run(ask(Client("http://127.0.0.1:9", None), {}, streamed=False))
