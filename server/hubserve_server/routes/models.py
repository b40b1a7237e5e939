"""`GET /v1/models`, `GET /v1/models/{id}` and `GET /props`."""

from fastapi import APIRouter
from starlette.responses import Response

from hubserve_server.dependencies import READ, TheEngine
from hubserve_server.responses import JsonResponse
from hubserve_server.translate.models import model, props
from hubserve_server.wire.models import ModelList

router = APIRouter()


@router.api_route("/v1/models", methods=READ)
@router.api_route("/models", methods=READ)
async def list_models(engine: TheEngine) -> Response:
    return JsonResponse(ModelList(data=[model(engine.info)]))


# An id has slashes and colons in it, so it takes the rest of the path.
@router.api_route("/v1/models/{name:path}", methods=READ)
@router.api_route("/models/{name:path}", methods=READ)
async def retrieve_model(name: str, engine: TheEngine) -> Response:
    if not name:  # The list, with a slash that the base URL ended in.
        return await list_models(engine)
    return JsonResponse(model(engine.served(name)))


@router.api_route("/props", methods=READ)
async def get_props(engine: TheEngine) -> Response:
    return JsonResponse(props(engine.info))
