"""Answers in the older form: a request with `functions` is answered with one `function_call`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import UNSET

from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.replies import ChatChunk, ChatCompletion, ChatDelta, ChatMessage, Finish


def wants_older_form(wire: ChatRequest) -> bool:
    return bool(wire.functions) and not wire.tools


def older_completion(completion: ChatCompletion) -> ChatCompletion:
    """The same answer; there is one call at most."""
    for choice in completion.choices:
        _change(choice.message)
        choice.finish_reason = _older(choice.finish_reason)
    return completion


async def older_chunks(chunks: AsyncGenerator[ChatChunk, None]) -> AsyncGenerator[ChatChunk, None]:
    """The same chunks. Closing this closes them."""
    async with aclosing(chunks):
        async for chunk in chunks:
            for choice in chunk.choices:
                _change(choice.delta)
                if choice.finish_reason is not None:
                    choice.finish_reason = _older(choice.finish_reason)
            yield chunk


def _change(message: ChatMessage | ChatDelta) -> None:
    if message.tool_calls is not UNSET:
        message.function_call = message.tool_calls[0].function
        message.tool_calls = UNSET


def _older(finish: Finish) -> Finish:
    return "function_call" if finish == "tool_calls" else finish
