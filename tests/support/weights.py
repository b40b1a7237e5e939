"""A server that runs a model in llama.cpp, as the client tests and the model tests use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from tests.support.process import Served, served

FIXTURES = Path(__file__).parents[1] / "fixtures"
TINY_HYBRID = FIXTURES / "tiny-qwen35.gguf"
TINY_LLAMA = FIXTURES / "tiny-llama.gguf"

THREADS = 1
"""ggml's threads spin: two beside a busy neighbour are a hundred times slower than one."""


@contextmanager
def serving(model: Path, *arguments: str | Path) -> Iterator[Served]:
    """A server with these weights, ready, on a free port. Nobody reads its log, so it is short."""
    options = ("-t", str(THREADS), "--log-level", "warning", *arguments)
    with served(model, *options, engine="llama.cpp") as server:
        yield server


def worker(server: Served) -> psutil.Process:
    """The process that runs the model."""
    (child,) = psutil.Process(server.process.pid).children()
    return child
