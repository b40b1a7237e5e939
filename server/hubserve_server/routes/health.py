"""`GET /health`: whether the model answers, and what it is waiting for if not."""

from fastapi import APIRouter
from starlette.responses import Response

from hubserve_engine.errors import Loading, Unavailable
from hubserve_server.dependencies import READ, TheEngine
from hubserve_server.errors import describe, outcome
from hubserve_server.responses import JsonResponse
from hubserve_server.wire.health import Health, NotReady

router = APIRouter()


@router.api_route("/health", methods=READ)
@router.api_route("/v1/health", methods=READ)
async def health(engine: TheEngine) -> Response:
    stage = engine.stage
    if stage == "ready":
        return JsonResponse(Health(active=engine.active, waiting=engine.waiting))
    if stage == "unavailable":
        error: Loading | Unavailable = Unavailable(
            "The model cannot be run; the server's log says why."
        )
        status = "error"
    else:
        error, status = Loading(f"The model is not ready yet ({stage})."), "loading model"
    result = outcome(error)
    headers = {} if result.retry_after is None else {"Retry-After": str(result.retry_after)}
    body = NotReady(error=describe(error), status=status, stage=stage)
    if stage in ("exporting", "loading"):
        body.progress = engine.loaded
    return JsonResponse(body, status=result.status, headers=headers)
