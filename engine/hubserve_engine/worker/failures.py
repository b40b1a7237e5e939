"""Errors of the engine's tree on their way from the worker to the server, and back again."""

from collections.abc import Iterator

from hubserve_engine.errors import ContextOverflow, EngineError
from hubserve_engine.surrogates import mended
from hubserve_engine.worker.protocol import Failed


def failure(id: int | None, error: EngineError) -> Failed:
    numbers = (error.needed, error.limit) if isinstance(error, ContextOverflow) else None
    # Templates and clients choose words of it, and it has to arrive whatever they are.
    return Failed(id, type(error).__name__, mended(error.message), error.param, numbers)


def error_of(failed: Failed) -> EngineError:
    """The same error again; one whose class this side does not know is an EngineError."""
    if failed.numbers is not None:
        return ContextOverflow(*failed.numbers, param=failed.param or "messages")
    kind = _KINDS.get(failed.kind, EngineError)
    return kind(failed.message, param=failed.param)


def _tree(kind: type[EngineError]) -> Iterator[type[EngineError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


_KINDS = {kind.__name__: kind for kind in _tree(EngineError)}
