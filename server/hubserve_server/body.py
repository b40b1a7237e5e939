"""From a request's bytes to a wire shape, or to a 400 that names the field."""

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_server.wire.fields import UNSUPPORTED, Body

EXPECTATIONS = {
    "missing": "is required",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be an array",
}
"""Our words for what pydantic checks by itself; our own readers bring their own."""


# JavaScript cuts strings between the halves of a character, and JSON.stringify writes the half that
# is left as such an escape. A pair is matched first, so that it stays whole.
SURROGATES = re.compile(
    rb"(?<!\\)(?P<before>(?:\\\\)*)"
    rb"(?:(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def parse(shape: type[Body], body: bytes) -> Body:
    """Raises `InvalidRequest`, or `Unsupported` for what is understood but cannot be done."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        mended = mend(body) if first["type"] == "json_invalid" else body
        if mended != body:
            return parse(shape, mended)
        raise explain(first) from error


def mend(body: bytes) -> bytes:
    """The body with U+FFFD for halves of characters, which no text can hold."""

    def replace(match: re.Match[bytes]) -> bytes:
        return match["before"] + (match["pair"] or rb"\ufffd")

    return SURROGATES.sub(replace, body)


def explain(first: ErrorDetails) -> InvalidRequest:
    """The first thing that is wrong, as a sentence about the field."""
    if first["type"] == "json_invalid":
        return InvalidRequest(f"The request body is not valid JSON: {first['ctx']['error']}.")
    param = ".".join(str(step) for step in first["loc"])
    reason = EXPECTATIONS.get(first["type"], first["msg"])
    if not param:
        return InvalidRequest(f"The request body {reason}.")
    kind = Unsupported if first["type"] == UNSUPPORTED else InvalidRequest
    separator = ": " if kind is Unsupported else " "
    return kind(f"{param!r}{separator}{reason}.", param=param)
