"""The engine's events as a chat completion, whole or in chunks."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field

from hubserve_engine.types import Completed, Delta, Event, Finished, TokenLogprob, ToolCallDelta
from hubserve_server.translate.counts import chat_logprobs, timings, usage
from hubserve_server.translate.ending import Ending, last_chunks, with_ending
from hubserve_server.translate.heading import Heading, fingerprint
from hubserve_server.wire.replies import (
    CalledFunction,
    ChatChoice,
    ChatChunk,
    ChatCompletion,
    ChatDelta,
    ChatMessage,
    ChunkChoice,
    Finish,
    ToolCall,
)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Choice:
    reasoning: list[str] = field(default_factory=list)
    content: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    finish: Finish = "stop"


async def chat_completion(
    heading: Heading, events: AsyncIterator[Event], *, n: int, logprobs: bool
) -> ChatCompletion:
    """The whole answer, once all choices are complete."""
    choices = [_Choice() for _ in range(n)]
    async for event in events:
        match event:
            case Delta():
                choice = choices[event.index]
                texts = choice.content if event.channel == "content" else choice.reasoning
                texts.append(event.text)
                choice.logprobs.extend(event.logprobs)
            case ToolCallDelta():
                calls = choices[event.index].calls
                if event.id is not None and event.name is not None:
                    calls.append(_Call(event.id, event.name))
                calls[event.call].arguments.append(event.arguments)
            case Finished():
                choice = choices[event.index]
                choice.finish = event.reason
                if event.cut is not None:
                    choice.calls.pop()
                    choice.content.append(event.cut)
            case Completed():
                heading.on_completed(event)
                return ChatCompletion(
                    id=heading.id,
                    created=heading.created,
                    model=heading.model,
                    system_fingerprint=fingerprint(),
                    choices=[
                        _whole(index, choice, logprobs) for index, choice in enumerate(choices)
                    ],
                    usage=usage(event.usage),
                    timings=timings(event.timings),
                )
    raise RuntimeError("the engine ended an answer without completing it")


def _whole(index: int, choice: _Choice, logprobs: bool) -> ChatChoice:
    content = "".join(choice.content)
    message = ChatMessage(content=content or (None if choice.calls else ""))
    if choice.reasoning:
        message.reasoning_content = "".join(choice.reasoning)
    if choice.calls:
        message.tool_calls = [
            ToolCall(
                id=call.id,
                type="function",
                function=CalledFunction(arguments="".join(call.arguments), name=call.name),
            )
            for call in choice.calls
        ]
    return ChatChoice(
        index=index,
        message=message,
        logprobs=chat_logprobs(choice.logprobs) if logprobs else None,
        finish_reason=choice.finish,
    )


async def chat_chunks(
    heading: Heading, events: AsyncIterator[Event], *, n: int, include_usage: bool
) -> AsyncGenerator[ChatChunk, None]:
    """Role, thinking, content, calls, finish; then what `last_chunks` says."""
    for index in range(n):
        yield _chunk(heading, index, ChatDelta(role="assistant", content=""))
    async for event in with_ending(events):
        match event:
            case Delta(channel="content"):
                yield _chunk(heading, event.index, ChatDelta(content=event.text), event.logprobs)
            case Delta():
                yield _chunk(heading, event.index, ChatDelta(reasoning_content=event.text))
            case ToolCallDelta():
                for call in _call_parts(event):
                    yield _chunk(heading, event.index, ChatDelta(tool_calls=[call]))
            case Finished():
                yield _chunk(heading, event.index, ChatDelta(), finish=event.reason)
            case Ending(finished, completed):
                end = _chunk(heading, finished.index, ChatDelta(), finish=finished.reason)
                for chunk in last_chunks(heading, completed, end, include_usage=include_usage):
                    yield chunk


def _call_parts(delta: ToolCallDelta) -> Iterator[ToolCall]:
    """What is known of a call at its start, then its arguments, as OpenAI sends them."""
    if delta.id is not None and delta.name is not None:
        yield ToolCall(
            index=delta.call,
            id=delta.id,
            type="function",
            function=CalledFunction(arguments="", name=delta.name),
        )
    if delta.arguments:
        yield ToolCall(index=delta.call, function=CalledFunction(arguments=delta.arguments))


def _chunk(
    heading: Heading,
    index: int,
    delta: ChatDelta,
    logprobs: Iterable[TokenLogprob] = (),
    finish: Finish | None = None,
) -> ChatChunk:
    choice = ChunkChoice(
        index=index,
        delta=delta,
        logprobs=chat_logprobs(logprobs) if logprobs else None,
        finish_reason=finish,
    )
    chunk = heading.bare(ChatChunk)
    chunk.choices.append(choice)
    return chunk
