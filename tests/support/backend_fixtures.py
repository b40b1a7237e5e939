"""A test for each of the small backends, and a prompt for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.backends import NAMES, load, tokens_of

from hubserve_engine.backends.base import Backend

TEXT = "the man and the land in an hour, all of it written on one long line"


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def backend(name: str, tmp_path: Path) -> Iterator[Backend]:
    backend = load(name, tmp_path)
    yield backend
    backend.close()


@pytest.fixture
def prompt(backend: Backend) -> list[int]:
    return tokens_of(backend, TEXT)
