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


MOST_VALUES = 500_000
"""Values in one body. Reading more would stop the other streams for too long: it is done in one
piece, in whatever thread. No context holds what they could be good for."""

# JavaScript cuts strings between the halves of a character, and JSON.stringify writes the half that
# is left as such an escape. Escaped backslashes and pairs are matched first, so that they stay
# whole; all begin with a backslash, so that what has none is passed over quickly.
SURROGATES = re.compile(
    rb"\\(?:\\(?:\\\\)*"
    rb"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)


def parse(shape: type[Body], body: bytes) -> Body:
    """Raises `InvalidRequest`, or `Unsupported` for what is understood but cannot be done."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise InvalidRequest(
            f"The request body holds more than {MOST_VALUES} values, counted by its commas and"
            " opening brackets; send less in one request."
        )
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid" and "hex escape" in first["ctx"]["error"]:
            mended = mend(body)
            if mended != body:
                return parse(shape, mended)
        raise explain(first) from error


def mend(body: bytes) -> bytes:
    """The body with U+FFFD for halves of characters, which no text can hold."""
    return SURROGATES.sub(lambda found: rb"\ufffd" if found["half"] else found[0], body)


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
