"""HTTP over the real engine and its worker process, which runs a scripted model."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.live_server import SAFETY, error_of, events, stream
from tests.support.process import script, served

THINKING = "<think>\nLet me see.\n</think>\n\nGrüße 👋🏽 aus 東京"
RULES: list[dict[str, Any]] = [
    {"when": "think first", "say": THINKING},
    {"when": "only think", "say": "<think>\nfor ever"},
    {"when": "say wide", "say": "aé👋b!"},
    {"when": "say stop", "say": "one STO two STOP three"},
    {"when": "forever", "say": "word ", "then": "repeat", "seconds": 0.005},
    {"when": "read slowly", "say": "x", "seconds": 0.01},
    {"when": "letters", "letters": 40},
    {"when": "die", "say": "a last word", "then": "die"},
    {"when": "answer: <tool>", "say": "ok"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    model = script(tmp_path_factory.mktemp("script"), *RULES)
    with served(model, "-c", "4096", "-np", "4") as server, server.client() as client:
        yield client


def ask(client: httpx.Client, words: str, **fields: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": words}], **fields}
    return client.post("/v1/chat/completions", json=body)


def message(client: httpx.Client, words: str, **fields: Any) -> dict[str, Any]:
    response = ask(client, words, **fields)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["choices"][0]["message"]
    return found


def joined(chunks: list[Any], field: str) -> str:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    return "".join(delta.get(field) or "" for delta in deltas)


def until_idle(client: httpx.Client) -> None:
    deadline = time.monotonic() + SAFETY
    while client.get("/health").json()["active"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_thinking_never_leaks_into_the_content(client: httpx.Client) -> None:
    whole = message(client, "think first")
    assert whole["reasoning_content"].strip() == "Let me see."
    assert whole["content"] == "Grüße 👋🏽 aus 東京"
    chunks = stream(client, messages=[{"role": "user", "content": "think first"}])
    assert joined(chunks, "reasoning_content").strip() == "Let me see."
    assert joined(chunks, "content") == whole["content"]
    usage = ask(client, "think first").json()["usage"]
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]


def test_thinking_that_does_not_end_is_no_content(client: httpx.Client) -> None:
    body = ask(client, "only think").json()
    assert body["choices"][0]["message"]["content"] == ""
    assert "for ever" in body["choices"][0]["message"]["reasoning_content"]


def test_thinking_can_be_left_in_the_text(client: httpx.Client) -> None:
    whole = message(client, "think first", reasoning_format="none")
    assert whole == {"role": "assistant", "content": THINKING}


SWITCHES: list[dict[str, Any]] = [
    {"chat_template_kwargs": {"enable_thinking": False}},
    {"enable_thinking": False},
    {"reasoning": {"enabled": False}},
    {"reasoning": {"effort": "none"}},
    {"thinking": {"type": "disabled"}},
    {"reasoning_effort": "none"},
]


@pytest.mark.parametrize("fields", SWITCHES, ids=str)
def test_every_thinking_switch_reaches_the_template(
    client: httpx.Client, fields: dict[str, Any]
) -> None:
    def prompt(**extra: Any) -> str:
        body = {"messages": [{"role": "user", "content": "Hi"}], **extra}
        text: str = client.post("/apply-template", json=body).json()["prompt"]
        return text

    assert prompt(**fields).endswith("<think>\n\n</think>\n\n")
    assert not prompt().endswith("</think>\n\n")
    assert not prompt(**{**fields, "chat_template_kwargs": {"enable_thinking": True}}).endswith(
        "</think>\n\n"
    )


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_earlier_thinking_goes_back_to_the_template(client: httpx.Client, name: str) -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello", name: "I greet."},
        {"role": "user", "content": "Again"},
    ]
    rendered = client.post("/apply-template", json={"messages": turns}).json()["prompt"]
    assert "<think>\nI greet.\n</think>\nHello" in rendered


def test_characters_are_never_torn(client: httpx.Client) -> None:
    chunks = stream(client, messages=[{"role": "user", "content": "👩‍🚀 naïve 東京"}])
    assert joined(chunks, "content") == "👩‍🚀 naïve 東京"
    assert "\ufffd" not in str(chunks)


@pytest.mark.parametrize("stop", ["STOP", ["STOP"], ["nothing", "STOP"], ["STOP three", "STOP"]])
def test_stop_strings_never_leak(client: httpx.Client, stop: object) -> None:
    body = ask(client, "say stop", stop=stop).json()
    assert body["choices"][0]["message"]["content"] == "one STO two "
    assert body["choices"][0]["finish_reason"] == "stop"
    chunks = stream(client, messages=[{"role": "user", "content": "say stop"}], stop=stop)
    assert joined(chunks, "content") == "one STO two "


def test_a_stop_string_that_does_not_come_loses_nothing(client: httpx.Client) -> None:
    assert message(client, "say stop", stop="threefold")["content"] == "one STO two STOP three"


def test_usage_comes_with_a_stream_that_asks_for_it(client: httpx.Client) -> None:
    words = {"messages": [{"role": "user", "content": "Hello"}]}
    chunks = stream(client, **words, stream_options={"include_usage": True})
    usage = chunks[-1]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] >= 5
    assert chunks[-1]["timings"]["predicted_n"] == usage["completion_tokens"]


def test_the_end_of_max_tokens_is_told(client: httpx.Client) -> None:
    choice = ask(client, "forever", max_tokens=5).json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", "word ")


@pytest.mark.parametrize("limit", [{}, {"max_tokens": 0}, {"max_tokens": -1}])
def test_no_small_default_cuts_an_answer(client: httpx.Client, limit: dict[str, int]) -> None:
    words = "x" * 1500
    assert message(client, words, **limit)["content"] == words


def test_a_prompt_that_does_not_fit_is_refused_and_never_cut(client: httpx.Client) -> None:
    for streaming in (False, True):
        response = ask(client, "x" * 5000, stream=streaming)
        assert response.status_code == 400
        error = error_of(response)
        assert error["code"] == "context_length_exceeded"
        assert error["n_ctx"] == 4096
        assert error["n_prompt_tokens"] > 5000
        assert "exceeds the available context size (4096 tokens)" in error["message"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("words", ["forever", "read slowly " + "x" * 3000])
def test_a_client_that_leaves_ends_the_work(
    client: httpx.Client, streaming: bool, words: str
) -> None:
    """While the answer is written, and while the prompt is still read."""
    body = {"messages": [{"role": "user", "content": words}], "stream": streaming}
    if streaming:
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            next(response.iter_raw())
    else:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=body, timeout=0.5)
    until_idle(client)


def test_many_at_once_get_what_each_gets_alone(client: httpx.Client) -> None:
    def letters(seed: int) -> str:
        content: str = message(client, f"letters {seed}", seed=seed)["content"]
        return content

    alone = [letters(seed) for seed in range(12)]
    together = [""] * 12

    def one(seed: int) -> None:
        together[seed] = letters(seed)

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert len(set(alone)) == 12


HISTORIES: dict[str, list[dict[str, Any]]] = {
    "late and several system messages": [
        {"role": "system", "content": "One."},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Two."},
        {"role": "user", "content": "Again"},
    ],
    "developer": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    "system alone": [{"role": "system", "content": "Be brief."}],
    "null content": [{"role": "user", "content": None}, {"role": "user", "content": "Hi"}],
    "empty content": [{"role": "user", "content": ""}],
    "no parts": [{"role": "user", "content": []}],
    "no content at all": [{"role": "user"}],
    "broken arguments": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": '}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "42"}]},
    ],
    "arguments as an object": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ],
    "an older function call": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    ],
    "an unfinished answer": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "I th"},
    ],
}


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("streaming", [False, True])
def test_messages_as_they_really_come(client: httpx.Client, name: str, streaming: bool) -> None:
    response = client.post(
        "/v1/chat/completions",
        json={"messages": HISTORIES[name], "stream": streaming, "max_tokens": 8},
    )
    assert response.status_code == 200, response.text
    assert '"error"' not in response.text


FUSSY = Path(__file__).parents[1] / "fixtures" / "tiny-qwen35.jinja"


@pytest.fixture(scope="module")
def fussy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A template that wants one system message at the front, and arguments as objects."""
    model = script(tmp_path_factory.mktemp("fussy"), {"say": "ok"}, template=FUSSY.read_text())
    with served(model) as server, server.client() as client:
        yield client


@pytest.mark.parametrize("name", HISTORIES)
def test_a_fussy_template_can_read_them_too(fussy: httpx.Client, name: str) -> None:
    response = fussy.post("/v1/chat/completions", json={"messages": HISTORIES[name]})
    assert response.status_code == 200, response.text


def test_what_a_template_refuses_is_a_clear_refusal(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if 'bad' in m.content %}{{ raise_exception('Not this.') }}"
        "{% endif %}user\n{{ m.content }}{% endfor %}assistant\n"
    )
    model = script(tmp_path, {"say": "ok"}, template=template)
    with served(model) as server, server.client() as client:
        for streaming in (False, True):
            refused = ask(client, "bad", stream=streaming)
            assert refused.status_code == 400
            assert error_of(refused)["code"] == "invalid_prompt"
            assert "Not this." in error_of(refused)["message"]
        assert message(client, "good")["content"] == "ok"


def test_an_unfinished_answer_ends_the_prompt(client: httpx.Client) -> None:
    body = {"messages": HISTORIES["an unfinished answer"]}
    rendered = client.post("/apply-template", json=body).json()["prompt"]
    assert rendered.endswith("I th")
    assert rendered.count("<|im_start|>assistant") == 1


def test_unknown_fields_never_matter(client: httpx.Client) -> None:
    extras = {"store": False, "verbosity": "low", "priority": 1, "service_tier": None, "user": "me"}
    assert message(client, "Hello", **extras, thinking_budget_tokens=5)["content"] == "Hello"


def test_logprobs(client: httpx.Client) -> None:
    choice = ask(client, "ab", logprobs=True, top_logprobs=2).json()["choices"][0]
    tokens = choice["logprobs"]["content"]
    assert [token["token"] for token in tokens] == ["a", "b"]
    assert all(len(token["top_logprobs"]) == 2 for token in tokens)


@pytest.mark.parametrize("streaming", [False, True])
def test_where_tokens_begin_in_the_text(client: httpx.Client, streaming: bool) -> None:
    """The scripted model's tokens are bytes, so that every character here is split."""
    body = {"prompt": "say wide", "logprobs": 1, "stop": "!", "stream": streaming}
    response = client.post("/v1/completions", json=body)
    chunks = events(response.text) if streaming else [response.json()]
    found = [chunk["choices"][0]["logprobs"] for chunk in chunks if chunk["choices"]]
    offsets = [offset for each in found if each for offset in each["text_offset"]]
    assert offsets == [0, 1, 1, 2, 2, 2, 2, 3]


def test_several_choices(client: httpx.Client) -> None:
    choices = ask(client, "letters", n=3, seed=5).json()["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert len({choice["message"]["content"] for choice in choices}) == 3


def test_plain_completions(client: httpx.Client) -> None:
    response = client.post("/v1/completions", json={"prompt": ["say stop", "letters"], "n": 2})
    texts = [choice["text"] for choice in response.json()["choices"]]
    assert texts[0] == texts[1] == "one STO two STOP three"
    assert len(texts[2]) == len(texts[3]) == 40


def test_tokens_there_and_back(client: httpx.Client) -> None:
    body = {"content": "Grüße <|im_end|>"}
    tokens = client.post("/tokenize", json=body).json()["tokens"]
    assert client.post("/detokenize", json={"tokens": tokens}).json() == body
    refused = client.post("/detokenize", json={"tokens": [10**6]})
    assert refused.status_code == 400
    assert error_of(refused)["param"] == "tokens"


def test_a_worker_that_dies_costs_its_requests_only(client: httpx.Client) -> None:
    """An error before the first byte or in the stream; and the next request is served."""
    response = ask(client, "die")
    assert response.status_code == 500
    assert error_of(response)["code"] == "worker_died"
    for _ in range(200):
        answer = ask(client, "Hello")
        if answer.status_code == 200:
            break
        time.sleep(0.05)
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"


def test_a_stream_that_waits_in_the_queue_has_begun(tmp_path: Path) -> None:
    model = script(tmp_path, {"when": "forever", "say": "x", "then": "repeat", "seconds": 0.01})
    with served(model, "-np", "1") as server, server.client() as client:

        def body(words: str) -> dict[str, Any]:
            return {"messages": [{"role": "user", "content": words}], "stream": True}

        with client.stream("POST", "/v1/chat/completions", json=body("forever")) as first:
            running = first.iter_lines()
            next(running)
            with client.stream("POST", "/v1/chat/completions", json=body("Hello")) as second:
                waiting = second.iter_lines()
                assert '"role":"assistant"' in next(waiting)
                assert client.get("/health").json()["waiting"] == 1
                first.close()
                assert '"content":"H' in "".join(waiting)


def test_a_full_queue_says_when_to_come_back(tmp_path: Path) -> None:
    model = script(tmp_path, {"when": "forever", "say": "x", "then": "repeat", "seconds": 0.01})
    with served(model, "-np", "1", "--max-queue", "0") as server, server.client() as client:
        body = {"messages": [{"role": "user", "content": "forever"}], "stream": True}
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            chunks = response.iter_raw()
            next(chunks)
            refused = ask(client, "Hello")
            assert refused.status_code == 429
            assert 0 < int(refused.headers["retry-after"]) <= 60
            assert error_of(refused)["code"] == "queue_full"
        until_idle(client)
        assert ask(client, "Hello").status_code == 200
