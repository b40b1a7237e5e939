"""`POST /tokenize`, `POST /detokenize`, `POST /apply-template`: shapes as llama-server's."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hubserve_server.dependencies import TheEngine, json_body
from hubserve_server.disconnect import unless_gone
from hubserve_server.engine import Engine
from hubserve_server.responses import JsonResponse
from hubserve_server.translate.chat import chat
from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.tokens import (
    Content,
    DetokenizeRequest,
    RenderedPrompt,
    TokenizeRequest,
    TokenPiece,
    Tokens,
)

router = APIRouter()


@router.post("/tokenize")
async def tokenize(
    http: Request,
    body: Annotated[TokenizeRequest, Depends(json_body(TokenizeRequest))],
    engine: TheEngine,
) -> Response:
    """The token ids of a text; by default without the tokens that open a prompt."""
    return JsonResponse(await unless_gone(http.receive, tokens_of(engine, body)))


async def tokens_of(engine: Engine, body: TokenizeRequest) -> Tokens:
    tokens: list[int] = []
    for position, piece in enumerate(body.content):
        if isinstance(piece, int):
            tokens.append(piece)
            continue
        tokens += await engine.tokenize(
            piece,
            add_special=body.add_special is True and position == 0,
            parse_special=body.parse_special is not False,
        )
    if not body.with_pieces:
        return Tokens(tokens)
    return Tokens(await with_pieces(engine, tokens))


async def with_pieces(engine: Engine, tokens: list[int]) -> list[TokenPiece]:
    pieces: list[TokenPiece] = []
    for token, piece in zip(tokens, await engine.pieces(tokens), strict=True):
        try:
            pieces.append(TokenPiece(token, piece.decode()))
        except UnicodeDecodeError:
            pieces.append(TokenPiece(token, list(piece)))
    return pieces


@router.post("/detokenize")
async def detokenize(
    http: Request,
    body: Annotated[DetokenizeRequest, Depends(json_body(DetokenizeRequest))],
    engine: TheEngine,
) -> Response:
    text = await unless_gone(http.receive, engine.detokenize(body.tokens))
    return JsonResponse(Content(text))


@router.post("/apply-template")
async def apply_template(
    http: Request,
    body: Annotated[ChatRequest, Depends(json_body(ChatRequest))],
    engine: TheEngine,
) -> Response:
    """The prompt that a chat request would give, without generating anything."""
    engine.served(body.model)
    rendered = await unless_gone(http.receive, engine.render(chat(body)))
    return JsonResponse(RenderedPrompt(rendered.text))
