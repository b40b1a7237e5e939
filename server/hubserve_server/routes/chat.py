"""`POST /v1/chat/completions`."""

from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hubserve_server.dependencies import TheEngine, TheMetrics, TheNote, TheSettings, json_body
from hubserve_server.disconnect import begin, unless_gone
from hubserve_server.responses import JsonResponse
from hubserve_server.sse import EventStream
from hubserve_server.translate.chat import chat_request
from hubserve_server.translate.chat_answer import chat_chunks, chat_completion
from hubserve_server.translate.function_call import (
    older_chunks,
    older_completion,
    wants_older_form,
)
from hubserve_server.translate.heading import Heading
from hubserve_server.wire.chat import ChatRequest

router = APIRouter()


@router.post("/v1/chat/completions")
@router.post("/chat/completions")
async def chat_completions(
    http: Request,
    body: Annotated[ChatRequest, Depends(json_body(ChatRequest))],
    engine: TheEngine,
    settings: TheSettings,
    note: TheNote,
    metrics: TheMetrics,
) -> Response:
    """The answer to a conversation, whole or as a stream of events."""
    heading = Heading.new("chatcmpl", engine.served(body.model).id, note.add)
    request = chat_request(body)
    older = wants_older_form(body)
    events = metrics.watch(engine.generate(request))
    await begin(http.receive, events)
    if body.stream:
        chunks = chat_chunks(heading, events, n=request.n, include_usage=body.stream_options)
        if older:
            chunks = older_chunks(chunks)
        return EventStream(chunks, source=events, keep_alive=settings.keep_alive)
    async with aclosing(events):
        logprobs = request.logprobs is not None
        work = chat_completion(heading, events, n=request.n, logprobs=logprobs)
        answer = await unless_gone(http.receive, work)
        return JsonResponse(older_completion(answer) if older else answer)
