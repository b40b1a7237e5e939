"""A worker's events -> those of an answer with tool calls in it."""

import json
import logging
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from hubserve_engine.output.offer import Offer
from hubserve_engine.output.scanner import Call, Piece, Scanner, Text
from hubserve_engine.tool_formats import GENERIC, ToolFormat
from hubserve_engine.types import (
    Delta,
    Event,
    Finished,
    TokenLogprob,
    ToolCallDelta,
    ToolUse,
    WorkerEvent,
)

logger = logging.getLogger(__name__)


async def with_calls(
    events: AsyncGenerator[WorkerEvent, None],
    format: ToolFormat,
    tools: Sequence[dict[str, Any]],
    use: ToolUse,
) -> AsyncGenerator[Event, None]:
    """The same events, calls of `tools` that are in the content told as such.

    Closing this closes `events`. Where no call can be, nothing is looked at.
    """
    offer = Offer(tools, use)
    if use.choice == "required":
        # What the format cannot be held to was written in the common one.
        format = replace(format, layouts=(*format.layouts, *GENERIC.layouts))
    choices: dict[int, _Choice] = {}
    async with aclosing(events):
        async for event in events:
            match event:
                case Delta(channel="content") if offer:
                    if event.index not in choices:
                        required = use.choice == "required"
                        choices[event.index] = _Choice(event.index, format, offer, required)
                    for told in choices[event.index].feed(event):
                        yield told
                case Finished() if event.index in choices:
                    for told in choices.pop(event.index).finish(event):
                        yield told
                case _:
                    yield event


class _Choice:
    """The calls of one choice, and the probabilities of its text, which wait for their tokens."""

    def __init__(self, index: int, format: ToolFormat, offer: Offer, calls_alone: bool) -> None:
        self._index = index
        self._offer = offer
        self._calls_alone = calls_alone
        self._scanner = Scanner(format, offer)
        self._logprobs: list[TokenLogprob] = []
        self._call = -1
        self._name = ""
        self._arguments: list[str] = []

    def feed(self, delta: Delta) -> list[Event]:
        self._logprobs += delta.logprobs
        return [self._event(piece) for piece in self._scanner.feed(delta.text)]

    def finish(self, finished: Finished) -> list[Event]:
        stopped = (finished.reason == "stop" and finished.stop is None) or finished.closed
        pieces, cut = self._scanner.finish(stopped=stopped), self._scanner.cut
        if self._calls_alone and self._scanner.calls:
            # Nothing but calls was to come. The beginning of a second one says nothing.
            pieces = [piece for piece in pieces if isinstance(piece, Call)]
            cut = "" if cut is not None else None
        told = [self._event(piece) for piece in pieces]
        if self._logprobs and self._call < 0:
            told.append(Delta(self._index, "content", "", tuple(self._logprobs)))
        if cut is not None:
            finished = replace(finished, cut=cut)
        elif self._scanner.calls and finished.reason == "stop":
            finished = replace(finished, reason="tool_calls")
        return [*told, finished]

    def _event(self, piece: Piece) -> Event:
        tokens = self._tokens_before(piece.end)
        match piece:
            case Text(text):
                return Delta(self._index, "content", text, tokens)
            case Call(arguments, name=None):
                self._look(piece)
                return ToolCallDelta(self._index, self._call, arguments=arguments)
            case Call(arguments, name=name):
                self._call += 1
                self._name, self._arguments = name or "", []
                self._look(piece)
                return ToolCallDelta(self._index, self._call, _new_id(), name, arguments)

    def _look(self, piece: Call) -> None:
        """Says in the log where a finished call does not fit: it was told as it came."""
        self._arguments.append(piece.arguments)
        tool = self._offer.find(self._name) if piece.last else None
        misfit = tool.misfit(_read("".join(self._arguments))) if tool is not None else None
        if misfit is not None:
            logger.warning("A call of %r has arguments that do not fit %s.", self._name, misfit)

    def _tokens_before(self, end: int) -> tuple[TokenLogprob, ...]:
        """The probabilities of what the scanner has accounted for; those of calls are not told."""
        count = 0
        while count < len(self._logprobs) and self._logprobs[count].offset < end:
            count += 1
        found, self._logprobs = tuple(self._logprobs[:count]), self._logprobs[count:]
        return found


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):  # a number too long, or deeper than Python reads
        return None


def _new_id() -> str:
    """Unlike all others in a conversation, which may have been begun elsewhere."""
    return f"call_{secrets.token_hex(12)}"
