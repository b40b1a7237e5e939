"""Plain completions over HTTP, whole and streamed, from a scripted engine."""

from typing import Any

import httpx
import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import MODEL_ID, FakeEngine
from tests.support.live_server import error_of, events, live

from hubserve_engine.errors import ContextOverflow, WorkerDied
from hubserve_engine.types import Request


def complete(engine: FakeEngine, **fields: Any) -> httpx.Response:
    return ask(engine, "POST", "/v1/completions", body={"prompt": "Once", **fields})


def named(request: Request) -> list[str]:
    return [f"<{request.prompt}", ">"]


def test_a_whole_answer() -> None:
    body = complete(FakeEngine()).json()
    assert body["id"].startswith("cmpl-")
    assert (body["object"], body["model"]) == ("text_completion", MODEL_ID)
    assert body["choices"] == [
        {"text": "Hello", "index": 0, "logprobs": None, "finish_reason": "stop"}
    ]
    assert body["usage"]["total_tokens"] == 9
    assert body["timings"]["predicted_n"] == 2


def test_a_stream() -> None:
    response = complete(FakeEngine(), stream=True, stream_options={"include_usage": True})
    *chunks, last = events(response.text)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert [choice["text"] for choice in choices] == ["Hel", "lo", ""]
    assert [choice["finish_reason"] for choice in choices] == [None, None, "stop"]
    assert all(set(choice) == {"text", "index", "logprobs", "finish_reason"} for choice in choices)
    assert (last["choices"], last["usage"]["completion_tokens"]) == ([], 2)
    assert last["timings"]["prompt_n"] == 4


def test_without_usage_the_finish_chunk_has_the_timings() -> None:
    chunks = events(complete(FakeEngine(), stream=True).text)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert "timings" in chunks[-1] and "usage" not in chunks[-1]


@pytest.mark.parametrize("streaming", [False, True])
def test_several_prompts_and_choices(streaming: bool) -> None:
    response = complete(FakeEngine(content_of=named), prompt=["a", "b"], n=2, stream=streaming)
    texts = ["", "", "", ""]
    for chunk in events(response.text) if streaming else [response.json()]:
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["text"]
    assert texts == ["<a>", "<a>", "<b>", "<b>"]


def test_usage_of_several_prompts_is_the_sum() -> None:
    body = complete(FakeEngine(), prompt=["a", "b"], n=2).json()
    assert body["usage"]["prompt_tokens"] == 14
    assert body["usage"]["completion_tokens"] == 8
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 6}
    assert body["timings"]["predicted_ms"] == 200.0


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("prompt", "expected"), [("Once", "OnceHello"), ([79, 75], "OKHello")])
def test_echo(streaming: bool, prompt: object, expected: str) -> None:
    response = complete(FakeEngine(), prompt=prompt, echo=True, stream=streaming)
    chunks = events(response.text) if streaming else [response.json()]
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == expected


def test_a_prompt_that_is_refused_is_not_repeated() -> None:
    engine = FakeEngine(error=ContextOverflow(7, 5, param="prompt"))
    response = complete(engine, prompt=[999], echo=True)
    assert error_of(response)["code"] == "context_length_exceeded"


def test_a_prompt_that_cannot_be_repeated_ends_the_request() -> None:
    engine = FakeEngine(endless=True)
    assert complete(engine, prompt=[999], echo=True).status_code == 400
    assert engine.left.is_set()


def test_token_prompts_reach_the_engine_as_they_are() -> None:
    engine = FakeEngine()
    complete(engine, prompt=[1, 2, 3])
    assert engine.requests[0].prompt == (1, 2, 3)


def test_logprobs() -> None:
    whole = complete(FakeEngine(), logprobs=2).json()["choices"][0]["logprobs"]
    assert whole == {
        "tokens": ["Hel", "lo"],
        "token_logprobs": [-0.5, -0.5],
        "top_logprobs": [
            {"Hel": -0.5, "bytes:\\xf0\\x9f": -9999.0},
            {"lo": -0.5, "bytes:\\xf0\\x9f": -9999.0},
        ],
        "text_offset": [0, 3],
    }
    chunks = events(complete(FakeEngine(), logprobs=0, stream=True).text)
    streamed = [chunk["choices"][0]["logprobs"] for chunk in chunks[:2]]
    assert [each["tokens"] for each in streamed] == [["Hel"], ["lo"]]
    assert [each["text_offset"] for each in streamed] == [[0], [3]]


def test_one_prompt_that_fails_fails_the_request() -> None:
    error = WorkerDied("The worker ended.")
    response = complete(FakeEngine(error=error), prompt=["a", "b"])
    assert response.status_code == 500
    assert error_of(response)["code"] == "worker_died"
    later = FakeEngine(error=error, error_after=2, silence=0.1)
    stream = complete(later, prompt=["a", "b"], stream=True)
    assert events(stream.text)[-1]["error"]["code"] == "worker_died"


def test_a_client_that_leaves_ends_the_work_on_every_prompt() -> None:
    engine = FakeEngine(endless=True, pause=0.01)
    body = {"prompt": ["a", "b", "c"], "stream": True}
    with live(engine) as client:
        with client.stream("POST", "/v1/completions", json=body) as response:
            next(response.iter_raw())
        assert engine.left.wait(5)
        with client.stream("GET", "/health") as health:
            assert health.status_code == 200
        assert engine.active == 0


def test_the_same_path_without_its_prefix() -> None:
    assert ask(FakeEngine(), "POST", "/completions", body={"prompt": "x"}).status_code == 200
