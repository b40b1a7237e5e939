"""Other real models than the demo: a sliding window without a template, and a coder with tools.

They are larger, so these tests are run by hand: scripts/test --long tests/models/test_families.py
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.fetched import real_model
from tests.support.process import Served
from tests.support.weights import serving

pytestmark = [pytest.mark.model, pytest.mark.long]

PATIENCE = 300.0


@pytest.fixture(scope="module")
def gemma3() -> Iterator[Served]:
    with serving(real_model("gemma3"), "-c", "4096") as server:
        yield server


@pytest.fixture(scope="module")
def coder() -> Iterator[Served]:
    with serving(real_model("qwen2.5-coder"), "-c", "4096") as server:
        yield server


def ask(server: Served, path: str, **body: Any) -> dict[str, Any]:
    reply = httpx.post(f"{server.url}{path}", json=body, timeout=PATIENCE)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def cached(reply: dict[str, Any]) -> int:
    found: int = reply["usage"]["prompt_tokens_details"]["cached_tokens"]
    return found


def test_a_model_without_a_template_says_so(gemma3: Served) -> None:
    assert "This model brings no chat template" in gemma3.output
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
    choice = ask(gemma3, "/v1/chat/completions", **body)["choices"][0]
    assert choice["finish_reason"] in ("stop", "length")
    rendered = ask(gemma3, "/apply-template", **body)["prompt"]
    assert rendered == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_a_prompt_longer_than_the_window(gemma3: Served) -> None:
    """The word stands more than 512 tokens back, where only some layers see it; and what is read
    once serves a prompt that goes on from it as well as one that is read anew."""
    filler = "The waves came and went, and nobody counted them. " * 120
    secret = "The secret word of the captain is"
    prompt = f"{secret} swordfish. {filler}{secret}"

    def text(more: str, *, reuse: bool) -> tuple[str, int]:
        body = {"prompt": prompt + more, "temperature": 0, "max_tokens": 3, "cache_prompt": reuse}
        reply = ask(gemma3, "/v1/completions", **body)
        assert reply["usage"]["prompt_tokens"] > 1300
        return reply["choices"][0]["text"], cached(reply)

    anew = text("", reuse=False)
    assert anew == (" swordfish.", 0)
    assert text("", reuse=True)[0] == anew[0]
    again = text("", reuse=True)
    assert (again[0], again[1] > 1300) == (anew[0], True)
    further = text(f" swordfish. {filler}{secret}", reuse=True)
    assert (further[0], 1300 < further[1] < 1400) == (anew[0], True)
    # The middle of what is kept, which the window has left behind long ago.
    shorter = prompt[: len(prompt) // 2] + secret
    kept = ask(gemma3, "/v1/completions", prompt=shorter, temperature=0, max_tokens=3)
    assert (kept["choices"][0]["text"], cached(kept) > 600) == (anew[0], True)


def test_a_conversation_goes_on_as_if_it_were_read_anew(coder: Served) -> None:
    first = "Write a Python function add(a, b) that returns the sum. Only the code."
    talk = [{"role": "user", "content": first}]

    def answer(*, reuse: bool = True) -> dict[str, Any]:
        body = {"messages": talk, "temperature": 0, "max_tokens": 60, "cache_prompt": reuse}
        return ask(coder, "/v1/chat/completions", **body)

    reply = answer()
    message = reply["choices"][0]["message"]
    assert "def add(a, b):" in message["content"]
    assert "return a + b" in message["content"]
    assert reply["choices"][0]["finish_reason"] == "stop"
    talk += [message, {"role": "user", "content": "Now mul, for the product. Only the code."}]
    second = answer()
    assert "return a * b" in second["choices"][0]["message"]["content"]
    assert cached(second) >= reply["usage"]["prompt_tokens"]
    anew = answer(reuse=False)
    assert cached(anew) == 0
    assert anew["choices"][0]["message"] == second["choices"][0]["message"]


def test_stop_strings_and_streams(coder: Served) -> None:
    body = {
        "messages": [{"role": "user", "content": "Count from 1 to 9, with commas between."}],
        "temperature": 0,
        "max_tokens": 40,
    }
    whole = ask(coder, "/v1/chat/completions", **body)["choices"][0]["message"]["content"]
    assert "4, 5, 6" in whole
    cut = ask(coder, "/v1/chat/completions", **body, stop=["4, 5"])["choices"][0]
    assert (cut["message"]["content"], cut["finish_reason"]) == (whole.split("4, 5")[0], "stop")


def test_tools_reach_the_template(coder: Served) -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [tool], "max_tokens": 4}
    assert '"name": "weather"' in ask(coder, "/apply-template", **body)["prompt"]
    assert ask(coder, "/v1/chat/completions", **body)["choices"][0]["message"]["content"]
