"""The table from the engine's errors to HTTP is complete and says what clients expect."""

from collections.abc import Iterator

import pytest

from hubserve_engine import errors
from hubserve_engine.errors import ContextOverflow, EngineError
from hubserve_server.errors import OUTCOMES, ErrorResponse, HttpError, describe, outcome


def tree(root: type[EngineError]) -> Iterator[type[EngineError]]:
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


OURS = [each for each in tree(EngineError) if each.__module__ == errors.__name__]


def test_every_error_of_the_engine_has_its_line() -> None:
    assert set(OUTCOMES) == set(OURS)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_types_agree_with_statuses(kind: type[EngineError]) -> None:
    """Agents retry on the word server_error, so a request's own fault must not be called that."""
    result = OUTCOMES[kind]
    if result.status < 500:
        assert result.type in ("invalid_request_error", "rate_limit_error")
    else:
        assert result.type in ("server_error", "unavailable_error")
    if result.status == 429:
        assert result.retry_after


def test_an_error_without_a_line_is_treated_as_its_parent() -> None:
    class New(errors.InvalidRequest):
        pass

    assert outcome(New("x")).status == 400


def test_a_context_overflow_carries_its_numbers() -> None:
    detail = describe(ContextOverflow(10, 5))
    assert (detail.n_prompt_tokens, detail.n_ctx) == (10, 5)
    assert detail.code == "context_length_exceeded"


def test_a_busy_server_says_when_to_come_back() -> None:
    response = ErrorResponse(errors.Busy("The queue is full."))
    assert response.status_code == 429
    assert response.headers["retry-after"].isdigit()


def test_an_error_of_http_keeps_its_headers() -> None:
    response = ErrorResponse(HttpError(405, "No.", code="x", headers={"Allow": "GET"}))
    assert (response.status_code, response.headers["allow"]) == (405, "GET")


def test_an_exception_that_nobody_planned_gives_nothing_away() -> None:
    detail = describe(ValueError("secret"))
    assert "secret" not in detail.message
    assert detail.code == "internal_error"
