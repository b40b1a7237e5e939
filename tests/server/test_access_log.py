"""One line a request, without its content."""

import logging
import socket
import time

import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import SAFETY, live

from hubserve_engine.errors import Busy, Cancelled, WorkerDied
from hubserve_server.settings import Settings

PROMPT = {"prompt": "Hi"}
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


def test_refusals_are_logged_with_their_reason(log: pytest.LogCaptureFixture) -> None:
    ask(FakeEngine(), "GET", "/v1/models", headers={"Origin": "https://evil.example"})
    ask(FakeEngine(), "GET", "/v1/models", settings=Settings(api_keys=("k",)))
    ask(FakeEngine(error=Busy("The queue is full.")), "POST", "/v1/completions", body=PROMPT)
    foreign, without_key, busy = lines(log)
    assert foreign.split()[2] == "403" and "origin_not_allowed: " in foreign
    assert "'https://evil.example'" in foreign
    assert without_key.split()[2] == "401" and "invalid_api_key: An API key is nee" in without_key
    assert busy.split()[2] == "429" and busy.endswith("queue_full: The queue is full.")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"max_tokens": "a secret"}, "invalid_value max_tokens"),
        ({"prompt": "a secret", "suffix": "a secret"}, "unsupported"),
        (None, "invalid_value"),
    ],
)
def test_what_is_wrong_with_a_request_is_named_but_not_quoted(
    log: pytest.LogCaptureFixture, fields: dict[str, object] | None, reason: str
) -> None:
    body = fields if fields is None else {**PROMPT, **fields}
    ask(FakeEngine(), "POST", "/v1/completions", body=body, content=b"{a secret")
    (line,) = lines(log)
    assert line.split()[2] == "400"
    assert f" {reason}" in line
    assert "secret" not in log.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (WorkerDied("The worker was killed\x1b[31m."), "worker_died: The worker was killed [31m."),
        (Cancelled("The server is stopping."), "cancelled: The server is stopping."),
        (ZeroDivisionError("secret"), "internal_error: "),
    ],
)
def test_a_failure_on_our_side_is_a_warning_with_its_reason(
    log: pytest.LogCaptureFixture, stream: bool, error: Exception, reason: str
) -> None:
    engine = FakeEngine(["a secret answer"], error=error, error_after=2)
    ask(engine, "POST", "/v1/chat/completions", body={**BODY, "stream": stream})
    (line,) = lines(log, logging.WARNING)
    assert line.startswith("POST /v1/chat/completions ")
    assert reason in line and "secret" not in line
    assert lines(log) == []


def test_a_model_that_is_being_loaded_is_no_reason_to_warn(log: pytest.LogCaptureFixture) -> None:
    ask(FakeEngine(stage="loading"), "GET", "/v1/models")
    (line,) = lines(log)
    assert line.split()[2] == "503" and "model_loading" in line


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


def test_a_client_that_leaves_while_it_sends_is_no_failure_of_ours(
    log: pytest.LogCaptureFixture,
) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with live(FakeEngine()) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=SAFETY) as connection:
            connection.sendall(head + b'{"messages": ')
            time.sleep(0.1)
        while not lines(log):
            time.sleep(0.01)
    (line,) = lines(log)
    assert line.startswith("POST /v1/chat/completions 499 ")
    assert not [record for record in log.records if record.levelno > logging.INFO]
