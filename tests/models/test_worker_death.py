"""A worker that is killed: its requests are answered, the next one is served, nothing is left."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest
from tests.support.crowd import at_once
from tests.support.fetched import real_model
from tests.support.live_server import error_of, events
from tests.support.process import SAFETY, Served
from tests.support.weights import TINY_LLAMA, serving, worker

ENDLESS = {"messages": [{"role": "user", "content": "Tell me a story."}], "ignore_eos": True}
SHORT = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}


@pytest.fixture(scope="module")
def smollm2() -> Iterator[Served]:
    with serving(real_model("smollm2"), "-np", "8", "-c", "8192") as server:
        yield server


def killed(server: Served) -> psutil.Process:
    """The worker, once it is dead."""
    process = worker(server)
    process.kill()
    assert psutil.wait_procs([process], timeout=SAFETY)[1] == []
    return process


def until_working(server: Served, requests: int) -> None:
    deadline = time.monotonic() + SAFETY
    with server.client() as client:
        while client.get("/health").json()["active"] < requests:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def next_one(client: httpx.Client) -> httpx.Response:
    """The answer to a request that comes while the model is being loaded again: it waits for that.

    The server may hear of the death a moment later than we do; then the request shares it.
    """
    answer = client.post("/v1/chat/completions", json=SHORT)
    if answer.status_code == 500:
        assert_died(error_of(answer))
        answer = client.post("/v1/chat/completions", json=SHORT)
    return answer


@pytest.mark.model
def test_under_load(smollm2: Served) -> None:
    """Four streams and four whole answers are under way when it dies."""
    dead: list[psutil.Process] = []

    def ask(number: int) -> httpx.Response:
        with smollm2.client() as client:
            body = {**ENDLESS, "stream": number < 4}
            return client.post("/v1/chat/completions", json=body)

    def kill(_: int) -> httpx.Response:
        until_working(smollm2, 8)
        time.sleep(0.3)  # so that the streams have begun
        dead.append(killed(smollm2))
        with smollm2.client() as client:
            return next_one(client)

    *answers, after = at_once(lambda number: (kill if number == 8 else ask)(number), range(9))
    for answer in answers:
        if answer.status_code == 200:
            *chunks, last = events(answer.text)
            assert_died(last["error"])
            assert chunks and all("error" not in chunk for chunk in chunks)
        else:
            # A whole answer, or a stream before its first byte.
            assert answer.status_code == 500
            assert_died(error_of(answer))
    assert any(answer.status_code == 200 for answer in answers[:4])
    assert all(answer.status_code == 500 for answer in answers[4:])
    assert after.status_code == 200, after.text
    assert after.json()["choices"][0]["message"]["content"]
    assert smollm2.process.poll() is None
    assert worker(smollm2).pid != dead[0].pid


def assert_died(error: dict[str, Any]) -> None:
    assert error["type"] == "server_error"
    assert error["code"] == "worker_died"
    assert error["param"] is None
    assert "signal 9" in error["message"] and "again" in error["message"]


def test_three_times_in_a_minute_is_enough() -> None:
    """Then the server says so, instead of trying for ever."""
    with serving(TINY_LLAMA) as server, server.client() as client:
        for _ in range(3):
            assert next_one(client).status_code == 200
            killed(server)
        answer = next_one(client)
        assert answer.status_code == 503
        error_of(answer)
        health = client.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "error")
        assert server.process.poll() is None
        assert psutil.Process(server.process.pid).children() == []
        assert server.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_no_worker_outlives_its_server(number: signal.Signals, busy: bool) -> None:
    with serving(TINY_LLAMA, "-c", "4096") as server, server.client() as client:
        process = worker(server)
        if busy:
            with client.stream(
                "POST", "/v1/chat/completions", json={**ENDLESS, "stream": True}
            ) as response:
                next(response.iter_raw())
                server.process.send_signal(number)
                if number != signal.SIGKILL:
                    # The first one lets the answer end; that is not waited for here.
                    server.process.send_signal(number)
                server.process.communicate(timeout=SAFETY)
        else:
            server.end(number)
        assert psutil.wait_procs([process], timeout=SAFETY)[1] == []
