from collections.abc import Iterator

import pytest

from hubserve_engine.errors import Busy, ContextOverflow, EngineError, InvalidRequest
from hubserve_engine.worker import protocol
from hubserve_engine.worker.failures import error_of, failure


def tree(kind: type[EngineError] = EngineError) -> Iterator[type[EngineError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def through(error: EngineError) -> EngineError:
    """As the other process sees it."""
    frame = protocol.encode(failure(7, error))
    (body,) = protocol.FrameBuffer().feed(frame)
    failed = protocol.decode_from_worker(body)
    assert isinstance(failed, protocol.Failed)
    assert failed.id == 7
    return error_of(failed)


KINDS = [kind for kind in tree() if kind is not ContextOverflow]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_what_it_is(kind: type[EngineError]) -> None:
    error = through(kind("Something is wrong with 'x'.", param="x"))
    assert type(error) is kind
    assert (error.message, error.param) == ("Something is wrong with 'x'.", "x")
    assert through(kind("No field.")).param is None


def test_a_context_overflow_keeps_its_numbers() -> None:
    error = through(ContextOverflow(5000, 4096))
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.limit) == (5000, 4096)
    assert error.message == ContextOverflow(5000, 4096).message


def test_an_error_that_this_side_does_not_know_is_one_all_the_same() -> None:
    error = error_of(protocol.Failed(1, "FromTheFuture", "Too new."))
    assert type(error) is EngineError
    assert error.message == "Too new."


def test_codes_are_stable_and_tell_failures_apart() -> None:
    codes = [kind.code for kind in tree()]
    assert len(set(codes)) == len(codes)
    assert (Busy.code, InvalidRequest.code) == ("queue_full", "invalid_value")
    assert ContextOverflow.code == "context_length_exceeded"
