"""`GET /health`; `status` has llama-server's words."""

import msgspec

from hubserve_server.wire.errors import ErrorDetail


class Health(msgspec.Struct):
    """`active` requests are worked on, `waiting` ones are in the queue."""

    active: int
    waiting: int
    status: str = "ok"
    stage: str = "ready"


class NotReady(msgspec.Struct):
    error: ErrorDetail
    status: str
    stage: str
