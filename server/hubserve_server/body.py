"""From a request's bytes to a wire shape, or to a 400 that names the field."""

from pydantic import ValidationError

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_server.wire.fields import UNSUPPORTED, Body

EXPECTATIONS = {
    "missing": "is required",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be an array",
}
"""Our words for what pydantic checks by itself; our own readers bring their own."""


def parse(shape: type[Body], body: bytes) -> Body:
    """Raises `InvalidRequest`, or `Unsupported` for what is understood but cannot be done."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise explain(error) from error


def explain(error: ValidationError) -> InvalidRequest:
    """The first thing that is wrong, as a sentence about the field."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return InvalidRequest(f"The request body is not valid JSON: {first['ctx']['error']}.")
    param = ".".join(str(step) for step in first["loc"])
    reason = EXPECTATIONS.get(first["type"], first["msg"])
    if not param:
        return InvalidRequest(f"The request body {reason}.")
    kind = Unsupported if first["type"] == UNSUPPORTED else InvalidRequest
    separator = ": " if kind is Unsupported else " "
    return kind(f"{param!r}{separator}{reason}.", param=param)
