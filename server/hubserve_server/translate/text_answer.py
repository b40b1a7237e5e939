"""The engine's events as a plain completion, whole or in chunks."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from hubserve_engine.types import Completed, Delta, Event, Finished, TokenLogprob
from hubserve_server.translate.counts import text_logprobs, timings, usage
from hubserve_server.translate.ending import Ending, last_chunks, with_ending
from hubserve_server.translate.heading import Heading
from hubserve_server.wire.replies import Finish, TextChoice, TextCompletion


async def text_completion(
    heading: Heading, events: AsyncIterator[Event], *, prefixes: Sequence[str], logprobs: bool
) -> TextCompletion:
    """The whole answer. `prefixes` has one text a choice, which goes before it (`echo`)."""
    texts = [[prefix] for prefix in prefixes]
    tokens: list[list[TokenLogprob]] = [[] for _ in prefixes]
    finish: list[Finish] = ["stop" for _ in prefixes]
    async for event in events:
        match event:
            case Delta():
                texts[event.index].append(event.text)
                tokens[event.index].extend(event.logprobs)
            case Finished():
                finish[event.index] = event.reason
            case Completed():
                heading.on_completed(event)
                reply = heading.bare(TextCompletion)
                reply.choices = [
                    TextChoice(
                        text="".join(texts[index]),
                        index=index,
                        logprobs=text_logprobs(tokens[index]) if logprobs else None,
                        finish_reason=finish[index],
                    )
                    for index in range(len(prefixes))
                ]
                reply.usage = usage(event.usage)
                reply.timings = timings(event.timings)
                return reply
    raise RuntimeError("the engine ended an answer without completing it")


async def text_chunks(
    heading: Heading, events: AsyncIterator[Event], *, prefixes: Sequence[str], include_usage: bool
) -> AsyncGenerator[TextCompletion, None]:
    """Text, finish; then what `last_chunks` says."""
    for index, prefix in enumerate(prefixes):
        if prefix:
            yield _chunk(heading, index, prefix)
    async for event in with_ending(events):
        match event:
            case Delta():
                chunk = _chunk(heading, event.index, event.text)
                if event.logprobs:
                    chunk.choices[0].logprobs = text_logprobs(event.logprobs)
                yield chunk
            case Finished():
                yield _chunk(heading, event.index, "", event.reason)
            case Ending(finished, completed):
                end = _chunk(heading, finished.index, "", finished.reason)
                for chunk in last_chunks(heading, completed, end, include_usage=include_usage):
                    yield chunk


def _chunk(heading: Heading, index: int, text: str, finish: Finish | None = None) -> TextCompletion:
    reply = heading.bare(TextCompletion)
    reply.choices.append(TextChoice(text=text, index=index, logprobs=None, finish_reason=finish))
    return reply
