"""`GET /health`; `status` has llama-server's words."""

import msgspec
from msgspec import UNSET, UnsetType

from hubserve_server.wire.errors import ErrorDetail


class Health(msgspec.Struct, kw_only=True):
    """`active` requests are worked on, `waiting` ones are in the queue."""

    status: str = "ok"
    stage: str = "ready"
    active: int
    waiting: int


class NotReady(msgspec.Struct):
    """`progress` is how much of the model is exported or loaded, from 0 to 1."""

    error: ErrorDetail
    status: str
    stage: str
    progress: float | UnsetType = UNSET
