"""Answers as a client reads them: events out of bytes, and what counts in an event."""

import msgspec


class Fault(msgspec.Struct, frozen=True):
    message: str = "an error without a message"


class Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct, frozen=True):
    """A call, or in a stream a piece of the one with this `index`."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function = Function()


class Words(msgspec.Struct, frozen=True):
    """A message, or in a stream a piece of it. Servers name thinking in two ways."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[Call, ...] | None = None

    @property
    def text(self) -> str | None:
        """Thinking is text like any other to whoever waits for it."""
        return self.content or self.reasoning_content or self.reasoning


class Choice(msgspec.Struct, frozen=True):
    delta: Words = Words()
    message: Words = Words()
    finish_reason: str | None = None


class Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completion(msgspec.Struct, frozen=True):
    """An answer that is no stream."""

    choices: tuple[Choice, ...]


class Chunk(msgspec.Struct, frozen=True):
    """The fields of a chat's chunk that are looked at, and an error in a chunk's place."""

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
