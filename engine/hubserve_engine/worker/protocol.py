"""Messages between the server process and a worker: msgpack behind a 4-byte length, low byte first.

The server sends one `Load`, then `Generate`, `Cancel` and questions. The worker sends `Progress`
and one `Ready` or `Failed`, then a `Step` for each step that has something to tell, and answers. A
request is named by a number that the server chose.
"""

import struct
from collections.abc import Iterator

import msgspec

from hubserve_engine.backends.base import BackendConfig, Loaded
from hubserve_engine.config import DiskCache
from hubserve_engine.types import (
    Chat,
    Completed,
    Delta,
    EngineName,
    Finished,
    ReasoningFormat,
    ReasoningSwitch,
    Rendered,
    Request,
    Sampling,
    Started,
    WorkerEvent,
)

LARGEST = 256 * 1024 * 1024
"""Bytes that a message may have, either way."""
_LENGTH = struct.Struct("<I")


class TooLong(Exception):
    """A message of this many bytes is not sent: the other side would not take it."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes, where a message may have {LARGEST}")


class Load(msgspec.Struct, tag=True, frozen=True):
    """The first message: which backend, and what the requests' defaults are.

    `chat_template` replaces the model's own. Prefixes that nobody uses may keep `kept` tokens of
    the context, and `memory` bytes beside it; without `disk` they are not kept there. `max_gap` is
    in seconds.
    """

    backend: EngineName
    config: BackendConfig
    sampling: Sampling
    chat_template: str | None
    reasoning: ReasoningSwitch
    reasoning_budget: int
    reasoning_format: ReasoningFormat
    max_gap: float
    kept: int
    memory: int = 0
    disk: DiskCache | None = None


class Generate(msgspec.Struct, tag=True, frozen=True):
    """A request, whose events come in steps."""

    id: int
    request: Request


class Cancel(msgspec.Struct, tag=True, frozen=True):
    """Nobody waits for the request or the answer with this number any more."""

    id: int


class Tokenize(msgspec.Struct, tag=True, frozen=True):
    """Answered by `Tokens`; see `Backend.tokenize`."""

    id: int
    text: str
    add_special: bool
    parse_special: bool


class Pieces(msgspec.Struct, tag=True, frozen=True):
    """Answered by `PieceList`: the bytes of each token, those of control tokens too."""

    id: int
    tokens: tuple[int, ...]


class Render(msgspec.Struct, tag=True, frozen=True):
    """Answered by `Text`: the chat as the model's template has it."""

    id: int
    chat: Chat


class Progress(msgspec.Struct, tag=True, frozen=True):
    """How much of the model is loaded, from 0 to 1."""

    done: float


class Ready(msgspec.Struct, tag=True, frozen=True):
    """The model is loaded: what it is, how it is run, and what its template was found to do."""

    loaded: Loaded
    context_length: int
    draft_max: int
    chat_template: str
    thinking_tags: tuple[str, str] | None
    thinking_switch: str | None
    tool_format: str
    notices: tuple[str, ...]


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of one request; exactly one of the fields is set."""

    id: int
    started: Started | None = None
    delta: Delta | None = None
    finished: Finished | None = None
    completed: Completed | None = None

    @classmethod
    def of(cls, id: int, event: WorkerEvent) -> "Item":
        match event:
            case Started():
                return cls(id, started=event)
            case Delta():
                return cls(id, delta=event)
            case Finished():
                return cls(id, finished=event)
            case Completed():
                return cls(id, completed=event)

    @property
    def event(self) -> WorkerEvent:
        event = self.started or self.delta or self.finished or self.completed
        assert event is not None
        return event


class Step(msgspec.Struct, tag=True, frozen=True):
    """Everything that one step has to tell, however many requests are in it."""

    items: list[Item]


class Failed(msgspec.Struct, tag=True, frozen=True):
    """A request, or with id None the loading of the model, came to nothing.

    `kind` is the name of the class in `errors`; `numbers` are a `ContextOverflow`'s two.
    """

    id: int | None
    kind: str
    message: str
    param: str | None = None
    numbers: tuple[int, int] | None = None


class Tokens(msgspec.Struct, tag=True, frozen=True):
    id: int
    tokens: list[int]


class PieceList(msgspec.Struct, tag=True, frozen=True):
    id: int
    pieces: list[bytes]


class Text(msgspec.Struct, tag=True, frozen=True):
    id: int
    rendered: Rendered


Answer = Tokens | PieceList | Text
"""To the question with its number."""
ToWorker = Load | Generate | Cancel | Tokenize | Pieces | Render
FromWorker = Progress | Ready | Step | Failed | Answer

_encoder = msgspec.msgpack.Encoder()
_to_worker = msgspec.msgpack.Decoder(ToWorker)
_from_worker = msgspec.msgpack.Decoder(FromWorker)


def encode(message: ToWorker | FromWorker) -> bytes:
    """A frame: length and message. Raises TooLong."""
    body = _encoder.encode(message)
    if len(body) > LARGEST:
        raise TooLong(len(body))
    return _LENGTH.pack(len(body)) + body


def decode_to_worker(body: bytes) -> ToWorker:
    return _to_worker.decode(body)


def decode_from_worker(body: bytes) -> FromWorker:
    return _from_worker.decode(body)


class FrameBuffer:
    """Bytes as they come from a socket -> whole message bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Raises ValueError for a length that no message of ours has."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if length > LARGEST:
                raise ValueError(f"a message of {length} bytes")
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            yield bytes(self._buffer[start + _LENGTH.size : end])
            start = end
        del self._buffer[:start]
