"""Fixtures for what lives on an event loop; a test module imports those that it wants."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from tests.support.process import SAFETY

T = TypeVar("T")
Run = Callable[[Awaitable[T]], T]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all tests of a module, so that they can share what lives on it."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def run(runner: asyncio.Runner) -> Run[Any]:
    """Runs something to its end, which must come."""

    async def within(work: Awaitable[T]) -> T:
        return await asyncio.wait_for(work, SAFETY)

    return lambda work: runner.run(within(work))
