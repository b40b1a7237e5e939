"""`GET /metrics`: what the server has counted, for Prometheus."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from hubserve_server.dependencies import READ, TheMetrics

router = APIRouter()


@router.api_route("/metrics", methods=READ)
async def get_metrics(metrics: TheMetrics) -> Response:
    return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
