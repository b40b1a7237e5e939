"""Chat completions over HTTP, whole and streamed, from a scripted engine."""

import threading

import httpx
import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import MODEL_ID, FakeEngine
from tests.support.live_server import chat, error_of, events, live, stream

from hubserve_engine.errors import ContextOverflow, InvalidRequest, WorkerDied
from hubserve_engine.types import Chat, Request
from hubserve_server.settings import Settings

USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 3,
    "total_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
TIMINGS = {
    "cache_n": 3,
    "cache_tier": "kept",
    "prompt_n": 4,
    "prompt_ms": 8.0,
    "prompt_per_token_ms": 2.0,
    "prompt_per_second": 500.0,
    "predicted_n": 3,
    "predicted_ms": 100.0,
    "predicted_per_token_ms": pytest.approx(100 / 3),
    "predicted_per_second": 30.0,
}


def test_a_whole_answer() -> None:
    with live(FakeEngine(reasoning=["hm"])) as client:
        body = chat(client).json()
    assert body["id"].startswith("chatcmpl-")
    assert (body["object"], body["model"]) == ("chat.completion", MODEL_ID)
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "reasoning_content": "hm", "content": "Hello"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert body["usage"] == USAGE
    assert body["timings"] == TIMINGS


def test_no_thinking_no_field() -> None:
    with live(FakeEngine()) as client:
        message = chat(client).json()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Hello"}


def test_a_stream_in_order() -> None:
    with live(FakeEngine(reasoning=["h", "m"], finish="length")) as client:
        chunks = stream(client, stream_options={"include_usage": True})
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "h"},
        {"reasoning_content": "m"},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    finishes = [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]]
    assert finishes == [None] * 5 + ["length"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 11
    assert chunks[-1]["timings"]["predicted_n"] == 4


def test_every_chunk_has_every_key() -> None:
    with live(FakeEngine(reasoning=["hm"])) as client:
        chunks = stream(client)
    for chunk in chunks:
        assert chunk["object"] == "chat.completion.chunk"
        assert {"id", "object", "created", "model", "system_fingerprint", "choices"} <= set(chunk)
        for choice in chunk["choices"]:
            assert set(choice) == {"index", "delta", "logprobs", "finish_reason"}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1


def test_without_usage_the_finish_chunk_is_last_and_has_the_timings() -> None:
    with live(FakeEngine()) as client:
        chunks = stream(client)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["timings"]["prompt_n"] == 4
    assert all("usage" not in chunk for chunk in chunks)


def test_several_choices() -> None:
    with live(FakeEngine(reasoning=["hm"])) as client:
        whole = chat(client, n=3).json()
        chunks = stream(client, n=3)
    assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in whole["choices"]} == {"Hello"}
    for index in range(3):
        mine = [c for chunk in chunks for c in chunk["choices"] if c["index"] == index]
        assert mine[0]["delta"]["role"] == "assistant"
        assert "".join(c["delta"].get("content", "") for c in mine) == "Hello"
        assert [c["finish_reason"] for c in mine].count("stop") == 1


def test_logprobs() -> None:
    with live(FakeEngine(["é"])) as client:
        whole = chat(client, logprobs=True, top_logprobs=2).json()
        bare = chat(client, logprobs=True).json()
        chunks = stream(client, logprobs=True, top_logprobs=2)
    expected = {
        "token": "é",
        "logprob": -0.5,
        "bytes": [0xC3, 0xA9],
        "top_logprobs": [
            {"token": "é", "logprob": -0.5, "bytes": [0xC3, 0xA9]},
            {"token": "\ufffd", "logprob": -9999.0, "bytes": [0xF0, 0x9F]},
        ],
    }
    assert whole["choices"][0]["logprobs"]["content"] == [expected]
    assert bare["choices"][0]["logprobs"]["content"] == [{**expected, "top_logprobs": []}]
    assert chunks[1]["choices"][0]["logprobs"]["content"] == [expected]


def test_text_outside_ascii_comes_through_whole() -> None:
    pieces = ["Grüße ", "你好", "👩‍🚀", '"\\\n']
    with live(FakeEngine(pieces)) as client:
        deltas = [chunk["choices"][0]["delta"] for chunk in stream(client)]
        assert chat(client).json()["choices"][0]["message"]["content"] == "".join(pieces)
    assert [delta["content"] for delta in deltas if delta.get("content")] == pieces


def test_stream_headers_keep_proxies_from_collecting() -> None:
    with live(FakeEngine()) as client:
        headers = chat(client, stream=True).headers
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"


def test_a_silent_stream_is_kept_alive() -> None:
    settings = Settings(keep_alive=0.05)
    with live(FakeEngine(silence=0.4), settings) as client:
        text = chat(client, stream=True).text
    before_content = text.split('"Hel"')[0]
    assert '"role":"assistant"' in before_content.split(": ping\n\n")[0]
    assert before_content.count(": ping\n\n") >= 2
    assert events(text)[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("streaming", [False, True])
def test_what_fails_before_the_first_byte_is_a_status(streaming: bool) -> None:
    with live(FakeEngine(error=ContextOverflow(41210, 32768))) as client:
        response = chat(client, stream=streaming)
    assert response.status_code == 400
    assert error_of(response) == {
        "message": response.json()["error"]["message"],
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
        "n_prompt_tokens": 41210,
        "n_ctx": 32768,
    }
    assert "41210 tokens" in response.text
    assert "exceeds the available context size (32768 tokens)" in response.text
    assert "maximum context length is 32768 tokens" in response.text


def test_what_fails_in_a_stream_is_an_event_before_its_end() -> None:
    with live(FakeEngine(error=WorkerDied("The worker ended."), error_after=2)) as client:
        response = chat(client, stream=True)
    assert response.status_code == 200
    *chunks, last = events(response.text)
    assert chunks[-1]["choices"][0]["delta"] == {"content": "Hel"}
    assert last == {
        "error": {
            "message": "The worker ended.",
            "type": "server_error",
            "param": None,
            "code": "worker_died",
        }
    }


def test_what_fails_in_a_whole_answer_is_a_status() -> None:
    with live(FakeEngine(error=WorkerDied("The worker ended."), error_after=2)) as client:
        response = chat(client)
    assert response.status_code == 500
    assert error_of(response)["code"] == "worker_died"


@pytest.mark.parametrize(("after", "streaming"), [(0, True), (2, True), (2, False)])
def test_a_fault_of_ours_gives_nothing_away(after: int, streaming: bool) -> None:
    engine = FakeEngine(error=ZeroDivisionError("secret"), error_after=after)
    body = {"messages": [{"role": "user", "content": "Hi"}], "stream": streaming}
    response = ask(engine, "POST", "/v1/chat/completions", body=body)
    assert "secret" not in response.text
    assert "internal_error" in response.text
    if response.status_code == 200:
        assert events(response.text)[-1]["error"]["type"] == "server_error"
    else:
        assert response.status_code == 500
        assert error_of(response)["type"] == "server_error"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("silence", [0.0, 30.0])
def test_a_client_that_leaves_ends_the_work(streaming: bool, silence: float) -> None:
    """While tokens come, and while there is only silence."""
    engine = FakeEngine(endless=True, pause=0.01, silence=silence)
    body = {"messages": [{"role": "user", "content": "Hi"}], "stream": streaming}
    with live(engine) as client:
        request = client.build_request("POST", "/v1/chat/completions", json=body)
        if streaming:
            response = client.send(request, stream=True)
            next(response.iter_raw())
            response.close()
        else:
            with pytest.raises(httpx.ReadTimeout):
                client.post("/v1/chat/completions", json=body, timeout=0.3)
        assert engine.left.wait(5)
        assert engine.active == 0
        assert client.get("/health").status_code == 200


def test_a_client_that_leaves_before_the_engine_has_answered() -> None:
    engine = FakeEngine(stuck=True)
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    with live(engine) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=body, timeout=0.3)
        assert engine.left.wait(5)


def test_answers_at_the_same_time_do_not_mix() -> None:
    def name_of(request: Request) -> list[str]:
        assert isinstance(request.prompt, Chat)
        return [f"{request.prompt.messages[0].content}."] * 20

    texts: dict[str, str] = {}
    with live(FakeEngine(content_of=name_of, pause=0.002)) as client:

        def one(name: str) -> None:
            chunks = stream(client, messages=[{"role": "user", "content": name}])
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
            texts[name] = "".join(delta.get("content", "") for delta in deltas)

        threads = [threading.Thread(target=one, args=(str(number),)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == {str(number): f"{number}." * 20 for number in range(16)}


def test_the_same_path_without_its_prefix() -> None:
    with live(FakeEngine()) as client:
        body = {"messages": [{"role": "user", "content": "Hi"}]}
        assert client.post("/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", "x/y; z=1"])
def test_a_body_of_any_content_type_is_read(content_type: str) -> None:
    response = ask(
        FakeEngine(),
        "POST",
        "/v1/chat/completions",
        content=b'{"messages": [{"role": "user", "content": "Hi"}]}',
        headers={"Content-Type": content_type},
    )
    assert response.status_code == 200


def test_a_request_that_cannot_be_read_never_reaches_the_engine() -> None:
    engine = FakeEngine()
    response = ask(engine, "POST", "/v1/chat/completions", content=b"{")
    assert response.status_code == 400
    assert error_of(response)["type"] == "invalid_request_error"
    assert engine.requests == []


def test_a_large_body_is_read_too() -> None:
    engine = FakeEngine()
    text = "x" * 3_000_000
    body = {"messages": [{"role": "user", "content": text}]}
    assert ask(engine, "POST", "/v1/chat/completions", body=body).status_code == 200
    wrong = {**body, "n": "two"}
    assert error_of(ask(engine, "POST", "/v1/chat/completions", body=wrong))["param"] == "n"


def test_refusals_of_requests_hold_no_word_that_makes_agents_retry() -> None:
    faults: list[dict[str, object]] = [
        {"n": 500},
        {"messages": []},
        {"tool_choice": "required"},
        {"model": "x"},
    ]
    for fields in faults:
        body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
        text = ask(FakeEngine(), "POST", "/v1/chat/completions", body=body).text.lower()
        for word in ("server_error", "server error", "overloaded", "timeout", "rate limit"):
            assert word not in text


def test_an_error_of_the_engine_keeps_its_field() -> None:
    error = InvalidRequest("'logit_bias' names no token.", param="logit_bias")
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    response = ask(FakeEngine(error=error), "POST", "/v1/chat/completions", body=body)
    assert error_of(response)["param"] == "logit_bias"
