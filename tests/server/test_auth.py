"""API keys."""

import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import error_of

from hubserve_server.settings import Settings

SETTINGS = Settings(api_keys=("first", "schlüssel", "voilà", "…", "\x85key"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer first"},
        {"Authorization": "bearer  first "},
        {"x-api-key": "first"},
        {"Authorization": b"Bearer schl\xc3\xbcssel"},
        {"Authorization": "Basic abc", "x-api-key": "first"},
        {"Authorization": "Bearer \tfirst\t"},
        {"Authorization": "Bearer voilà".encode()},
        {"x-api-key": "voilà".encode()},
        {"x-api-key": "…".encode()},
        {"x-api-key": "\x85key".encode()},
    ],
)
def test_a_key_opens(headers: dict[str, str]) -> None:
    assert ask(FakeEngine(), "GET", "/v1/models", settings=SETTINGS, headers=headers).is_success


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "first"},
        {"Authorization": "Bearer second"},
        {"Authorization": "Bearer firs"},
        {"Authorization": b"Bearer \xff\xfe"},
        {"Authorization": b"Bearer schl\xfcssel"},
        {"x-api-key": "first,second"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/props", "/nowhere", "/health/", "//health"])
def test_nothing_else_does(headers: dict[str, str], path: str) -> None:
    headers = {**headers, "Origin": "http://localhost:3000"}
    response = ask(FakeEngine(), "GET", path, settings=SETTINGS, headers=headers)
    assert response.status_code == 401
    error = error_of(response)
    assert error["code"] == "invalid_api_key"
    assert "first" not in error["message"]
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_no_work_is_done_without_a_key() -> None:
    engine = FakeEngine()
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    ask(engine, "POST", "/v1/chat/completions", body=body, settings=SETTINGS)
    assert engine.requests == []


def test_health_is_open() -> None:
    assert ask(FakeEngine(), "GET", "/health", settings=SETTINGS).status_code == 200
    assert ask(FakeEngine(), "GET", "/v1/health", settings=SETTINGS).status_code == 200


def test_without_keys_any_key_or_none_will_do() -> None:
    headers = {"Authorization": "Bearer anything"}
    assert ask(FakeEngine(), "GET", "/v1/models", headers=headers).status_code == 200
    assert ask(FakeEngine(), "GET", "/v1/models").status_code == 200
