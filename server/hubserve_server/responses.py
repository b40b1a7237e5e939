"""JSON replies, encoded by msgspec."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

encode = msgspec.json.Encoder().encode


class JsonResponse(Response):
    """`content` is anything that msgspec encodes: structs, mappings, lists."""

    media_type = "application/json"

    def __init__(
        self, content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(encode(content), status_code=status, headers=headers)
