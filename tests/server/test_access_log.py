"""One line a request, without its content."""

import logging

import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import live

from hubserve_server.settings import Settings

BODY = {"messages": [{"role": "user", "content": "a secret question"}]}


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="hubserve_server.access_log")
    return caplog


def lines(log: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    return [
        record.getMessage()
        for record in log.records
        if record.name == "hubserve_server.access_log" and record.levelno == level
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_counts_and_speed(log: pytest.LogCaptureFixture, stream: bool) -> None:
    body = {**BODY, "stream": stream}
    ask(FakeEngine(["a secret answer"]), "POST", "/v1/chat/completions", body=body)
    (line,) = lines(log)
    assert line.startswith("POST /v1/chat/completions 200 ")
    assert line.endswith("prompt 7 (3 cached) generated 1 at 10.0/s")
    assert "secret" not in log.text


def test_refusals_are_logged_too(log: pytest.LogCaptureFixture) -> None:
    ask(FakeEngine(), "GET", "/v1/models", headers={"Origin": "https://evil.example"})
    ask(FakeEngine(), "GET", "/v1/models", settings=Settings(api_keys=("k",)))
    assert [line.split()[2] for line in lines(log)] == ["403", "401"]


def test_health_checks_are_for_debugging(log: pytest.LogCaptureFixture) -> None:
    ask(FakeEngine(), "GET", "/health")
    assert lines(log) == []
    assert len(lines(log, logging.DEBUG)) == 1


def test_a_path_cannot_write_lines_of_its_own(log: pytest.LogCaptureFixture) -> None:
    ask(FakeEngine(), "GET", "/v1/%0AINFO%20forged%1B[31m")
    (line,) = lines(log)
    assert line.isprintable()


def test_a_client_that_left_is_told_apart(log: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine(endless=True, pause=0.01)
    with live(engine) as client:
        with client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as reply:
            next(reply.iter_raw())
        assert engine.left.wait(5)
    assert any("(client left)" in line for line in lines(log))
