"""Every failure as HTTP: a status and the error object that OpenAI's clients read.

The texts and types matter. Agents compact a conversation on `context_length_exceeded` and retry
on words such as "server_error", so a fault of the request never carries such a type.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hubserve_engine.errors import (
    Busy,
    Cancelled,
    ContextOverflow,
    EngineError,
    InvalidRequest,
    LoadError,
    Loading,
    ModelNotFound,
    PromptError,
    ResolveError,
    StartError,
    Unavailable,
    Unsupported,
    WorkerDied,
)
from hubserve_server.note import note_of
from hubserve_server.responses import JsonResponse
from hubserve_server.wire.errors import ErrorDetail, ErrorReply


@dataclass(frozen=True, slots=True)
class Outcome:
    """`retry_after` is in seconds, for the header of that name."""

    status: int
    type: str
    retry_after: int | None = None


OUTCOMES: Mapping[type[EngineError], Outcome] = {
    EngineError: Outcome(500, "server_error"),
    InvalidRequest: Outcome(400, "invalid_request_error"),
    ContextOverflow: Outcome(400, "invalid_request_error"),
    PromptError: Outcome(400, "invalid_request_error"),
    Unsupported: Outcome(400, "invalid_request_error"),
    ModelNotFound: Outcome(404, "invalid_request_error"),
    Busy: Outcome(429, "rate_limit_error", retry_after=2),
    Loading: Outcome(503, "unavailable_error", retry_after=5),
    Unavailable: Outcome(503, "unavailable_error"),
    WorkerDied: Outcome(500, "server_error"),
    Cancelled: Outcome(503, "unavailable_error"),
    StartError: Outcome(503, "unavailable_error"),
    ResolveError: Outcome(503, "unavailable_error"),
    LoadError: Outcome(503, "unavailable_error"),
}
"""The one table from the engine's errors to HTTP; the nearest class in an error's line counts."""


class HttpError(Exception):
    """A failure that only HTTP knows: a wrong path, a missing key, a body that is too large."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        type: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = ErrorDetail(message=message, type=type, param=None, code=code)
        self.headers = headers or {}


def outcome(error: EngineError) -> Outcome:
    return next(OUTCOMES[base] for base in type(error).__mro__ if base in OUTCOMES)


def describe(error: Exception) -> ErrorDetail:
    """The error object for any exception; one that nobody planned for gives nothing away."""
    if isinstance(error, HttpError):
        return error.detail
    if not isinstance(error, EngineError):
        return ErrorDetail(
            message="Something went wrong inside the server; its log has the details.",
            type="server_error",
            param=None,
            code="internal_error",
        )
    detail = ErrorDetail(
        message=error.message, type=outcome(error).type, param=error.param, code=error.code
    )
    if isinstance(error, ContextOverflow):
        detail.n_prompt_tokens = error.needed
        detail.n_ctx = error.limit
    return detail


class ErrorResponse(JsonResponse):
    """The reply to a failure; the log hears of it too."""

    def __init__(self, error: Exception) -> None:
        status, headers = 500, dict[str, str]()
        if isinstance(error, HttpError):
            status, headers = error.status, dict(error.headers)
        elif isinstance(error, EngineError):
            result = outcome(error)
            status = result.status
            if result.retry_after is not None:
                headers["Retry-After"] = str(result.retry_after)
        super().__init__(ErrorReply(error=describe(error)), status=status, headers=headers)
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note_of(scope).failure = self._error
        await super().__call__(scope, receive, send)


async def on_error(request: Request, error: Exception) -> Response:
    """The application's handler for our own errors, and for what nobody planned for."""
    return ErrorResponse(error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """The router's own refusals (no such path, no such method), in our shape."""
    assert isinstance(error, HTTPException)
    path, headers = request.url.path, error.headers or {}
    if error.status_code == 404:
        message = (
            f"There is nothing at {path!r}. The API's paths begin with /v1/, such as /v1/models"
            " and /v1/chat/completions."
        )
        code = "not_found"
    elif error.status_code == 405:
        allowed = " or ".join(sorted(headers.get("Allow", "another method").split(", ")))
        message = f"{request.method} is not possible on {path!r}; use {allowed}."
        code = "method_not_allowed"
    else:
        message, code = str(error.detail), "invalid_request"
    return ErrorResponse(HttpError(error.status_code, message, code=code, headers=headers))
