"""A request as clients send it, streamed or not, and the answer as they put it together."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hubserve_server.client.answers import Call, Words
from hubserve_server.client.client import Client
from hubserve_server.client.errors import Refused


class Made(msgspec.Struct, frozen=True):
    """A call as it came back; `arguments` is the text of its JSON."""

    id: str | None
    name: str | None
    arguments: str


class Reply(msgspec.Struct, frozen=True):
    """An answer; `faults` are what clients choke on in the way it came."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Made, ...] = ()
    finish_reason: str | None = None
    faults: tuple[str, ...] = ()


async def ask(client: Client, request: dict[str, Any], *, streamed: bool) -> Reply:
    """Whatever the server says; what is no answer at all is a fault. Raises CommandError for a
    server that is not there."""
    try:
        return await (_streamed(client, request) if streamed else _whole(client, request))
    except Refused as error:
        return Reply(faults=(str(error),))


async def _whole(client: Client, request: dict[str, Any]) -> Reply:
    completion = await client.complete(request)
    if not completion.choices:
        return Reply(faults=("an answer without choices",))
    choice = completion.choices[0]
    words = choice.message
    made = [
        Made(call.id, call.function.name, call.function.arguments or "")
        for call in words.tool_calls or ()
    ]
    return Reply(
        words.content or "", _thinking(words), tuple(made), choice.finish_reason, _ids(made)
    )


async def _streamed(client: Client, request: dict[str, Any]) -> Reply:
    texts: list[str] = []
    thoughts: list[str] = []
    pieces: list[Call] = []
    reasons: list[str] = []
    async for chunk in client.stream(request):
        for choice in chunk.choices[:1]:
            texts.append(choice.delta.content or "")
            thoughts.append(_thinking(choice.delta))
            pieces += choice.delta.tool_calls or ()
            reasons += [choice.finish_reason] if choice.finish_reason else []
    made, faults = join(pieces)
    if len(reasons) != 1:
        faults.append(f"{len(reasons)} finish reasons in a stream")
    return Reply(
        "".join(texts),
        "".join(thoughts),
        tuple(made),
        reasons[-1] if reasons else None,
        (*faults, *_ids(made)),
    )


def join(pieces: Sequence[Call]) -> tuple[list[Made], list[str]]:
    """The calls of a stream, and what is wrong with their pieces: a call's first piece has its id
    and its name, and no other has a name; indices count from 0 without a gap."""
    made: list[Made] = []
    faults: list[str] = []
    for piece in pieces:
        name, arguments = piece.function.name, piece.function.arguments or ""
        if piece.index == len(made):
            if not name or not piece.id:
                faults.append("the first piece of a call has no name or no id")
            made.append(Made(piece.id, name, arguments))
        elif piece.index is not None and 0 <= piece.index < len(made):
            if name:
                faults.append("a call's name comes more than once")
            call = made[piece.index]
            made[piece.index] = Made(call.id, call.name, call.arguments + arguments)
        else:
            faults.append(f"a piece of a call with the index {piece.index}")
    return made, faults


def _thinking(words: Words) -> str:
    return words.reasoning_content or words.reasoning or ""


def _ids(made: Sequence[Made]) -> tuple[str, ...]:
    ids = {call.id for call in made}
    return () if len(ids - {None, ""}) == len(made) else ("calls without an id of their own",)
