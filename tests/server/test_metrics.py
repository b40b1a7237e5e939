"""What is counted, as Prometheus reads it."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import SAFETY, chat, error_of, live, stream

from hubserve_engine.errors import Busy, WorkerDied
from hubserve_server.settings import Settings


def counts(client: httpx.Client) -> dict[str, float]:
    """Each sample's value; its labels' values stand behind its name."""
    reply = client.get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=")
    return {
        " ".join([sample.name.removeprefix("hubserve_"), *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
        if family.name.startswith("hubserve_")
    }


def test_before_there_was_anything() -> None:
    engine = FakeEngine(active=2, waiting=3, restarts=1, stage="loading")
    with live(engine) as client:
        found = counts(client)
    assert found["requests_running"] == 2
    assert found["requests_waiting"] == 3
    assert found["worker_restarts_total"] == 1
    assert found["generated_tokens_total"] == 0
    assert not [name for name in found if name.startswith("requests_total")]
    assert not [name for name in found if "created" in name]


@pytest.mark.parametrize("streaming", [False, True])
def test_tokens_and_times(streaming: bool) -> None:
    with live(FakeEngine()) as client:
        for _ in range(2):
            if streaming:
                stream(client, n=2)
            else:
                chat(client, n=2)
        found = counts(client)
    assert found["requests_total completed"] == 2
    assert found["prompt_tokens_total"] == 8
    assert found["prompt_tokens_cached_total kept"] == 6
    assert found["generated_tokens_total"] == 8
    assert found["time_to_first_token_seconds_count"] == 2
    assert found["time_per_output_token_seconds_count"] == 2
    assert found["time_per_output_token_seconds_sum"] == pytest.approx(2 * 0.1 / 3)
    assert found["http_responses_total 200"] == 2


def test_every_prompt_of_a_request_is_one_generation() -> None:
    with live(FakeEngine()) as client:
        body = {"prompt": ["a", "b", "c"]}
        assert client.post("/v1/completions", json=body).status_code == 200
        found = counts(client)
    assert found["requests_total completed"] == 3
    assert found["http_responses_total 200"] == 1


@pytest.mark.parametrize(
    ("engine", "outcome"),
    [
        (FakeEngine(error=Busy("Full.")), "queue_full"),
        (FakeEngine(error=WorkerDied("Gone."), error_after=2), "worker_died"),
        (FakeEngine(error=ZeroDivisionError(), error_after=2), "internal_error"),
    ],
    ids=["refused", "failed", "ours"],
)
def test_how_requests_end(
    engine: FakeEngine, outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    with live(engine) as client:
        chat(client, stream=True)
        found = counts(client)
    assert found[f"requests_total {outcome}"] == 1
    assert found["generated_tokens_total"] == 0


def test_a_client_that_leaves() -> None:
    engine = FakeEngine(endless=True, pause=0.01)
    body = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with live(engine) as client:
        with client.stream("POST", "/v1/chat/completions", json=body) as reply:
            next(reply.iter_lines())
        assert engine.left.wait(SAFETY)
        while "requests_total client_left" not in (found := counts(client)):
            pass
    assert found["requests_total client_left"] == 1


def test_a_key_is_needed_where_one_is_asked_for() -> None:
    settings = Settings(api_keys=("k",))
    refused = ask(FakeEngine(), "GET", "/metrics", settings=settings)
    assert refused.status_code == 401
    assert error_of(refused)["code"] == "invalid_api_key"
    headers = {"x-api-key": "k"}
    assert ask(FakeEngine(), "GET", "/metrics", settings=settings, headers=headers).is_success
