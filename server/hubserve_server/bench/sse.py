"""Streams as a client reads them: events out of bytes, and what counts in an event."""

import msgspec


class Fault(msgspec.Struct, frozen=True):
    message: str = "an error without a message"


class Delta(msgspec.Struct, frozen=True):
    """Servers name thinking `reasoning_content` or `reasoning`; both are text like any other."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class Choice(msgspec.Struct, frozen=True):
    delta: Delta = Delta()
    finish_reason: str | None = None


class Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chunk(msgspec.Struct, frozen=True):
    """The fields of a chat's chunk that are measured, and an error in a chunk's place."""

    choices: tuple[Choice, ...] = ()
    usage: Usage | None = None
    error: Fault | None = None


class Events:
    """Takes bytes as they come, cut anywhere, and gives the data of each event that is whole."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The data of all events that end in `data`; comments and other fields are left out."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line[5:].strip() for line in lines if line.startswith(b"data:")]


def decode(event: bytes) -> Chunk | None:
    """The chunk; None for `[DONE]`. Raises `msgspec.MsgspecError` for what is no chunk."""
    return None if event == b"[DONE]" else _DECODER.decode(event)


_DECODER = msgspec.json.Decoder(Chunk)
