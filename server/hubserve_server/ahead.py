"""The first worker, which is begun before it is known what it is to load.

Its imports take as long as those of the server, and run beside them. Nearly every server wants one
of llama.cpp; a wrong guess costs a process that ends again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hubserve_engine.worker.spawn import Spawned, spawn

_waiting: Spawned | None = None


@contextmanager
def begun(arguments: Sequence[str]) -> Iterator[None]:
    """If these arguments of `serve` look as if they start a server, a worker waits to be taken
    inside the block. It ends with the block, unless somebody took it. Raises OSError."""
    global _waiting
    if _likely(arguments):
        _waiting = spawn("llama.cpp")
    try:
        yield
    finally:
        if left := _take():
            left.discard()


def worker(backend: str) -> Spawned:
    """A process that imports what this backend needs, and is the caller's. Raises OSError."""
    return _take() or spawn(backend)


def _take() -> Spawned | None:
    global _waiting
    taken, _waiting = _waiting, None
    return taken


def _likely(arguments: Sequence[str]) -> bool:
    """Whether a server will be started, and nothing is said of its engine."""
    others = ("-h", "--help", "--version", "--engine")
    return bool(arguments) and not any(a.startswith(others) for a in arguments)
