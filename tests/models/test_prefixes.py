"""A chat that goes on from what is kept says what it says when all of it is read anew."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.crowd import at_once
from tests.support.fetched import real_model
from tests.support.nearness import QUANTIZED, TINY, is_near
from tests.support.process import SAFETY, Served
from tests.support.weights import TINY_HYBRID, TINY_LLAMA, serving, worker

PATIENCE = 300.0
RULES = "You are a guide to a small town. Answer in one short sentence, and never more than that. "
QUESTIONS = ("Where is the mill?", "Who built it?", "When was that?", "Is there a bridge, too?")


@dataclass(frozen=True)
class Model:
    path: Path
    tolerance: float
    rules: str = RULES * 16

    def serve(self, cache: Path) -> Any:
        return serving(self.path, "-c", "4096", "--cache-dir", cache)


@pytest.fixture(
    params=[
        "tiny-llama",
        "tiny-qwen35",
        pytest.param("smollm2", marks=pytest.mark.model),
        *(
            pytest.param(name, marks=[pytest.mark.model, pytest.mark.long])
            for name in ("gemma3", "qwen2.5-coder")
        ),
    ]
)
def model(request: pytest.FixtureRequest) -> Model:
    tiny = {"tiny-llama": TINY_LLAMA, "tiny-qwen35": TINY_HYBRID}
    if request.param in tiny:
        return Model(tiny[request.param], TINY)
    return Model(real_model(request.param), QUANTIZED)


@pytest.fixture
def server(model: Model, tmp_path: Path) -> Iterator[Served]:
    with model.serve(tmp_path) as server:
        yield server


def ask(server: Served, messages: list[dict[str, str]], *, reuse: bool = True) -> dict[str, Any]:
    body = {
        "messages": messages,
        "temperature": 0,
        "max_tokens": 12,
        "logprobs": True,
        "top_logprobs": 8,
        "reasoning_format": "none",
        "cache_prompt": reuse,
    }
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=PATIENCE)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def same(model: Model, one: dict[str, Any], other: dict[str, Any]) -> None:
    """As far as the texts are equal, so are their numbers; a close call may fall the other way."""
    first, second = (each["choices"][0]["logprobs"]["content"] for each in (one, other))
    is_near(first, second, model.tolerance)


def test_each_turn_reads_what_is_new_and_says_what_it_would_anyway(
    model: Model, server: Served
) -> None:
    """Also where the state cannot be cut back, and the answer comes back without its thinking."""
    messages = [{"role": "system", "content": model.rules}]
    before = 0
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        anew, again = ask(server, messages, reuse=False), ask(server, messages)
        same(model, anew, again)
        timings = again["timings"]
        assert anew["timings"]["cache_n"] == 0
        if before:
            # All but the last message of the turn before, and less than is worth a copy.
            assert timings["cache_n"] > before - 48 - 64
            assert timings["prompt_n"] < 150
            assert timings["cache_tier"] in ("kept", "host", "disk")
        before = again["usage"]["prompt_tokens"]
        text = again["choices"][0]["message"]["content"] or "nothing"
        messages.append({"role": "assistant", "content": text})


def test_what_was_read_is_not_read_again_after_a_restart(model: Model, tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": model.rules},
        {"role": "user", "content": QUESTIONS[0]},
    ]
    with model.serve(tmp_path) as server:
        before = ask(server, messages)
        end = time.monotonic() + SAFETY
        while not list(tmp_path.rglob("*.prefix")):
            assert time.monotonic() < end, "it is not written"
            time.sleep(0.05)
        worker(server).kill()
        server.process.kill()
    with model.serve(tmp_path) as server:
        after = ask(server, messages)
    same(model, before, after)
    assert after["timings"]["cache_tier"] == "disk"
    assert after["timings"]["prompt_n"] < 64


def test_requests_that_begin_alike_are_read_once(model: Model, server: Served) -> None:
    def about(question: str) -> list[dict[str, str]]:
        return [
            {"role": "system", "content": model.rules},
            {"role": "user", "content": question},
        ]

    together = at_once(lambda q: ask(server, about(q)), QUESTIONS)
    read = sum(each["timings"]["prompt_n"] for each in together)
    longest = max(each["usage"]["prompt_tokens"] for each in together)
    assert read < longest + 3 * 64
    for question, each in zip(QUESTIONS, together, strict=True):
        same(model, ask(server, about(question), reuse=False), each)
