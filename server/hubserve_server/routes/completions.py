"""`POST /v1/completions`: text that goes on from a text, without a chat template."""

from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hubserve_server.dependencies import TheEngine, TheMetrics, TheNote, TheSettings, json_body
from hubserve_server.disconnect import begin, unless_gone
from hubserve_server.engine import Engine
from hubserve_server.fan_in import fan_in
from hubserve_server.responses import JsonResponse
from hubserve_server.sse import EventStream
from hubserve_server.translate.completions import completion_requests
from hubserve_server.translate.heading import Heading
from hubserve_server.translate.text_answer import text_chunks, text_completion
from hubserve_server.wire.completions import CompletionRequest

router = APIRouter()


@router.post("/v1/completions")
@router.post("/completions")
async def completions(
    http: Request,
    body: Annotated[CompletionRequest, Depends(json_body(CompletionRequest))],
    engine: TheEngine,
    settings: TheSettings,
    note: TheNote,
    metrics: TheMetrics,
) -> Response:
    """What follows each prompt, whole or as a stream of events."""
    heading = Heading.new("cmpl", engine.served(body.model).id, note.add)
    requests = completion_requests(body)
    streams = [metrics.watch(engine.generate(request)) for request in requests]
    events = streams[0] if len(streams) == 1 else fan_in(streams, n=requests[0].n)
    await begin(http.receive, events)
    try:
        prefixes = await echoes(engine, body)  # by now each prompt is known to fit
    except BaseException:
        await events.aclose()
        raise
    if body.stream:
        chunks = text_chunks(heading, events, prefixes=prefixes, include_usage=body.stream_options)
        return EventStream(chunks, source=events, keep_alive=settings.keep_alive)
    async with aclosing(events):
        logprobs = body.logprobs is not None
        work = text_completion(heading, events, prefixes=prefixes, logprobs=logprobs)
        return JsonResponse(await unless_gone(http.receive, work))


async def echoes(engine: Engine, body: CompletionRequest) -> list[str]:
    """For each choice the text that goes before it: its prompt, if the request wants it back."""
    prefixes = []
    for prompt in body.prompt:
        prefix = ""
        if body.echo:
            prefix = prompt if isinstance(prompt, str) else await engine.detokenize(prompt)
        prefixes += [prefix] * (body.n or 1)
    return prefixes
