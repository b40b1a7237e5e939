"""Sixteen streams at once: each is what it is alone.

llama.cpp's numbers depend a little on what else is in a step, and on where a sequence lies in the
memory that all of them share: by up to 0.01 in a log probability for the tiny models with their 16
bits, by up to 0.7 for SmolLM2 with its 4. So a text that hangs on single numbers need not be equal
under load. What never depends on them is exact, and that is most of what can go wrong: samplers,
random numbers, penalties, stop strings, and who gets which token. The rest is held within bounds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.crowd import Streamed, at_once, streamed
from tests.support.fetched import real_model
from tests.support.nearness import is_near
from tests.support.weights import TINY_HYBRID, TINY_LLAMA, serving

TAGS = {"<think>": 100, "</think>": 100.33, "<tool_call>": 100.66, "</tool_call>": 100.99}
"""In the tiny models these have a logit of exactly 0, whatever has been read. The biases keep ties
away, also where penalties are subtracted: how a tie is ordered would depend on the other tokens."""

STOPS: tuple[list[str], ...] = (
    [],
    ["</think><think></think>"],
    ["nothing", "k></tool_call><tool_c"],
    ["think>" * 4, "<tool_call><tool_call><tool_call>"],
)

WORDS = (
    *("red", "dog", "tree", "house", "river", "moon", "stone", "bread"),
    *("light", "horse", "green", "table", "winter", "music", "paper", "glass"),
)


@pytest.fixture(params=[TINY_HYBRID, TINY_LLAMA], ids=["hybrid", "plain"], scope="module")
def tiny(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(params=[4096, 1024], ids=["room for all", "too little room"], scope="module")
def client(request: pytest.FixtureRequest, tiny: Path) -> Iterator[httpx.Client]:
    """With the smaller context sequences have to stop, make room, and be read again later."""
    context = str(request.param)
    with serving(tiny, "-np", "16", "-c", context) as server, server.client() as client:
        yield client


def by_chance(seed: int) -> dict[str, Any]:
    """A text of four tags, whose chances only penalties change."""
    return {
        "prompt": f"Once upon a time in the year {seed}",
        "logit_bias": TAGS,
        "seed": seed,
        "temperature": 1,
        "frequency_penalty": 0.1 * (seed % 3),
        "stop": STOPS[seed % 4],
        "max_tokens": 120,
    }


def test_what_chance_and_stop_strings_make_is_equal(client: httpx.Client) -> None:
    def ask(seed: int) -> Streamed:
        return streamed(client, **by_chance(seed))

    alone = [ask(seed) for seed in range(16)]
    assert at_once(ask, range(16)) == alone
    assert at_once(ask, reversed(range(16))) == alone[::-1]
    assert len({each.text for each in alone}) == 16
    assert {each.finish_reason for each in alone} == {"stop", "length"}
    for seed, each in enumerate(alone):
        assert not any(stop in each.text for stop in STOPS[seed % 4])


def test_what_the_model_says_is_nearly_equal(client: httpx.Client) -> None:
    def ask(seed: int) -> list[Any]:
        body = {
            "messages": [{"role": "user", "content": f"{seed} ships sail over the sea"}],
            "seed": seed,
            "temperature": 1,
            "logprobs": True,
            "top_logprobs": 10,
            "max_tokens": 40,
            "ignore_eos": True,
            "reasoning_format": "none",
        }
        reply = client.post("/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text
        tokens: list[Any] = reply.json()["choices"][0]["logprobs"]["content"]
        assert len(tokens) == 40
        return tokens

    alone = [ask(seed) for seed in range(16)]
    together = at_once(ask, range(16))
    equal = [is_near(one, other) for one, other in zip(alone, together, strict=True)]
    assert sum(equal) >= 8


@pytest.mark.model
def test_a_real_model_mixes_nothing_up() -> None:
    """After so many repetitions the next word is far likelier than all others, so that the text
    does not hang on single numbers."""

    def ask(seed: int) -> Streamed:
        word = WORDS[seed]
        stop = [f"{word}, {word[0]}"] if seed % 2 else []
        return streamed(
            http,
            prompt=", ".join([word] * 16) + ",",
            seed=seed,
            temperature=0.1,
            stop=stop,
            max_tokens=12,
        )

    options = ("-np", "16", "-c", "2048")
    with serving(real_model("smollm2"), *options) as server, server.client() as http:
        alone = [ask(seed) for seed in range(16)]
        together = at_once(ask, range(16))
    assert together == alone
    for seed, each in enumerate(alone):
        if seed % 2:
            assert (each.text, each.finish_reason) == (" ", "stop")
        else:
            assert (each.text, each.finish_reason) == (f" {WORDS[seed]}," * 6, "length")
