"""Fixtures around the local Hub; a conftest.py or a test module imports those that it wants."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from tests.support.hub_repo import Repo
from tests.support.hub_server import HubServer

from hubserve_engine.catalog.hub import Hub

FIXTURES = Path(__file__).parent.parent / "fixtures"
REPO = "owner/Tiny-GGUF"
TINY = FIXTURES / "tiny-qwen35.gguf"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A local Hub with one repository of a few files, and nobody logged in."""
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    readme = tmp_path / "README.md"
    readme.write_text("# Tiny\n")
    files = {
        "README.md": readme,
        "Tiny-Q4_K_M.gguf": TINY,
        "Tiny-Q8_0.gguf": FIXTURES / "tiny-llama.gguf",
        "sub/Tiny-F16.gguf": TINY,
    }
    with HubServer({REPO: Repo.of_files(files)}) as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where the client keeps what it downloads."""
    return tmp_path / "cache"


@pytest.fixture
def hub(server: HubServer, cache: Path) -> Hub:
    """A client of the local Hub with an empty cache."""
    return Hub(endpoint=server.url, cache=cache)
