"""Bodies that are too large, announced or not."""

from collections.abc import Iterator

import pytest
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import error_of, live

from hubserve_server.settings import Settings

SETTINGS = Settings(max_body=1000)


def test_an_announced_length_is_refused() -> None:
    with live(FakeEngine(), SETTINGS) as client:
        response = client.post("/v1/chat/completions", content=b"x" * 1001)
        assert response.status_code == 413
        assert error_of(response)["code"] == "request_too_large"
        assert client.get("/health").status_code == 200


def test_a_body_in_chunks_is_counted() -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 100

    with live(FakeEngine(), SETTINGS) as client:
        response = client.post("/v1/chat/completions", content=chunks())
        assert response.status_code == 413
        assert error_of(response)["code"] == "request_too_large"
        assert client.get("/health").status_code == 200


@pytest.mark.parametrize("size", [0, 940])
def test_what_fits_is_read(size: int) -> None:
    body = {"messages": [{"role": "user", "content": "x" * size}]}
    with live(FakeEngine(), SETTINGS) as client:
        assert client.post("/v1/chat/completions", json=body).status_code == 200
