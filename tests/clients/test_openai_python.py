"""The OpenAI SDK for Python, against the server with a real model."""

import asyncio
import math
from collections.abc import Iterator
from typing import Any, Literal

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
from pydantic import BaseModel, Field
from tests.support.fetched import real_model
from tests.support.process import SAFETY, Served
from tests.support.weights import serving

pytestmark = pytest.mark.model

KEY = "sesame"
MODEL = "acme/Sea.Tales-GGUF:small/sea-1.5-Q4_1.gguf"
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Name three animals."}]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    options = ("-c", "2048", "-np", "4", "--alias", MODEL, "--api-key", KEY)
    with serving(real_model("smollm2"), *options) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[OpenAI]:
    base = f"{server.url}/v1"
    with OpenAI(base_url=base, api_key=KEY, max_retries=0, timeout=SAFETY) as client:
        yield client


def joined(chunks: list[ChatCompletionChunk], index: int = 0) -> str:
    choices = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
    return "".join(choice.delta.content or "" for choice in choices)


def token(server: Served, text: str) -> int:
    headers = {"Authorization": f"Bearer {KEY}"}
    reply = httpx.post(f"{server.url}/tokenize", json={"content": text}, headers=headers)
    (found,) = reply.json()["tokens"]
    return int(found)


def test_a_chat(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model=MODEL, messages=QUESTION, temperature=0, max_tokens=8
    )
    assert reply.object == "chat.completion"
    (choice,) = reply.choices
    assert choice.message.role == "assistant"
    assert choice.message.content
    assert choice.finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 8
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 8


def test_a_stream_has_the_text_of_the_whole(client: OpenAI) -> None:
    """The prompt is short and nothing else runs, so that it is read in one piece both times."""
    options: dict[str, Any] = {"prompt": "The sea is", "extra_body": {"cache_prompt": False}}
    options |= {"model": MODEL, "temperature": 0, "max_tokens": 8}
    whole = client.completions.create(**options)
    with client.completions.create(stream=True, **options) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert chunks[-1].choices[0].finish_reason == "length"


def test_a_stream_has_usage_if_it_is_asked_for(client: OpenAI) -> None:
    for asked in (True, False):
        with client.chat.completions.create(
            model=MODEL,
            messages=QUESTION,
            max_tokens=5,
            stream=True,
            stream_options={"include_usage": asked},
        ) as stream:
            chunks = list(stream)
        assert len({chunk.id for chunk in chunks}) == 1
        assert all(chunk.usage is None for chunk in chunks[:-1])
        usage = chunks[-1].usage
        assert (usage is not None) == asked
        if usage is not None:
            assert chunks[-1].choices == []
            assert usage.completion_tokens == 5
            assert usage.total_tokens == usage.prompt_tokens + 5
            assert usage.completion_tokens_details is not None
            assert usage.completion_tokens_details.reasoning_tokens == 0


def test_several_choices(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model=MODEL, messages=QUESTION, n=3, seed=1, temperature=1.5, max_tokens=10
    )
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in reply.choices}) == 3
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 30


def test_several_choices_in_a_stream(client: OpenAI) -> None:
    with client.chat.completions.create(
        model=MODEL, messages=QUESTION, n=3, seed=1, temperature=1.5, max_tokens=10, stream=True
    ) as stream:
        chunks = list(stream)
    assert len({joined(chunks, index) for index in range(3)} - {""}) == 3
    for index in range(3):
        mine = [each for chunk in chunks for each in chunk.choices if each.index == index]
        assert mine[0].delta.role == "assistant"
        assert [each.finish_reason for each in mine if each.finish_reason] == ["length"]
        assert mine[-1].finish_reason == "length"


def test_the_logprobs_of_a_chat(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model=MODEL, messages=QUESTION, logprobs=True, top_logprobs=4, temperature=0, max_tokens=6
    )
    (choice,) = reply.choices
    assert choice.logprobs is not None and choice.logprobs.content is not None
    tokens = choice.logprobs.content
    assert len(tokens) == 6
    assert b"".join(bytes(each.bytes or []) for each in tokens).decode() == choice.message.content
    for each in tokens:
        top = [other.logprob for other in each.top_logprobs]
        assert len(top) == 4 and top == sorted(top, reverse=True)
        assert sum(map(math.exp, top)) <= 1.0001
        # Without chance the likeliest is taken.
        assert (each.token, each.logprob) == (each.top_logprobs[0].token, top[0])


def test_the_logprobs_of_a_streamed_chat(client: OpenAI) -> None:
    with client.chat.completions.create(
        model=MODEL, messages=QUESTION, logprobs=True, max_tokens=6, stream=True
    ) as stream:
        chunks = list(stream)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    found = [each.logprobs.content or [] for each in choices if each.logprobs is not None]
    tokens = [token for group in found for token in group]
    assert len(tokens) == 6
    assert "".join(token.token for token in tokens) == joined(chunks)
    assert all(token.logprob <= 0 and token.top_logprobs == [] for token in tokens)


def test_the_logprobs_of_a_completion(client: OpenAI) -> None:
    reply = client.completions.create(
        model=MODEL, prompt="The sea is", logprobs=3, temperature=0, max_tokens=6
    )
    (choice,) = reply.choices
    found = choice.logprobs
    assert found is not None
    assert found.tokens is not None and found.token_logprobs is not None
    assert found.top_logprobs is not None and found.text_offset is not None
    assert "".join(found.tokens) == choice.text
    starts = [len("".join(found.tokens[:position])) for position in range(6)]
    assert found.text_offset == starts
    for chosen, logprob, top in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        assert len(top) == 3
        assert max(top.values()) == top[chosen] == logprob


def test_the_same_seed_gives_the_same_text(client: OpenAI) -> None:
    """llama.cpp's numbers depend on how a prompt is cut into steps and, for quantized weights, on
    what lies beside it in memory; so this prompt is short, and nothing of it is kept."""

    def text(seed: int) -> str:
        reply = client.completions.create(
            model=MODEL,
            prompt="The sea is",
            seed=seed,
            temperature=1.5,
            max_tokens=10,
            extra_body={"cache_prompt": False},
        )
        return reply.choices[0].text

    texts = [text(seed) for seed in (7, 7, 8, 9)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_a_bias_makes_or_forbids_a_token(client: OpenAI, server: Served) -> None:
    sea = token(server, " sea")
    question: dict[str, Any] = {"model": MODEL, "prompt": "I love the"}
    forced = client.completions.create(
        **question, logit_bias={str(sea): 100}, temperature=0, max_tokens=4
    )
    assert forced.choices[0].text == " sea" * 4
    by_text: Any = {" sea": 100}
    forced = client.completions.create(**question, logit_bias=by_text, max_tokens=4)
    assert forced.choices[0].text == " sea" * 4
    for never in (-100, False):
        biases = {" sea": 90, str(sea): never, " lake": 50}
        other = client.completions.create(
            **question, temperature=0, max_tokens=3, extra_body={"logit_bias": biases}
        )
        assert other.choices[0].text == " lake" * 3


@pytest.mark.parametrize(
    ("stop", "text"),
    [("sea sea", " "), (["a s"], " se"), (["nothing", " sea sea sea", "sea"], " ")],
)
def test_a_stop_string_ends_the_text_and_is_not_in_it(
    client: OpenAI, stop: str | list[str], text: str
) -> None:
    forcing: Any = {"prompt": "I love the", "logit_bias": {" sea": 100}, "max_tokens": 12}
    whole = client.completions.create(model=MODEL, stop=stop, **forcing)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (text, "stop")
    assert whole.usage is not None and whole.usage.completion_tokens <= 3
    with client.completions.create(model=MODEL, stop=stop, stream=True, **forcing) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].text for chunk in chunks) == text
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_several_prompts(client: OpenAI) -> None:
    reply = client.completions.create(
        model=MODEL, prompt=["The sea", "A dog"], n=2, echo=True, max_tokens=3
    )
    starts = ["The sea", "The sea", "A dog", "A dog"]
    assert len(reply.choices) == 4
    assert all(c.text.startswith(s) for c, s in zip(reply.choices, starts, strict=True))


def test_the_models(client: OpenAI) -> None:
    (served,) = client.models.list()
    assert served.id == real_model("smollm2").name
    for name in (served.id, MODEL, "default"):
        assert client.models.retrieve(name).id == served.id
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("acme/other:b.gguf")
    assert served.id in caught.value.message


def test_another_model(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-4o", messages=QUESTION)
    assert caught.value.code == "model_not_found"
    assert real_model("smollm2").name in caught.value.message


@pytest.mark.parametrize(
    ("param", "value"),
    [("temperature", 9), ("n", 0), ("top_logprobs", 50), ("stop", [1]), ("max_tokens", "many")],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_value_is_named(client: OpenAI, param: str, value: object, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=MODEL, messages=QUESTION, stream=stream, extra_body={param: value}
        )
    assert caught.value.param == param
    assert caught.value.type == "invalid_request_error"


def test_a_wrong_key(server: Served) -> None:
    with OpenAI(base_url=f"{server.url}/v1", api_key="guess", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError):
            stranger.chat.completions.create(model=MODEL, messages=QUESTION)
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_that_does_not_fit(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "sea " * 3000}],
            stream=stream,
        )
    assert caught.value.code == "context_length_exceeded"
    assert "exceeds the available context size (2048 tokens)" in caught.value.message


class Animal(BaseModel):
    kind: Literal["cat", "dog"]
    legs: int | None = None


class Animals(BaseModel):
    """Held to by the server, so that any model writes them."""

    animals: list[Animal] = Field(min_length=1, max_length=2)


def test_an_answer_is_parsed_into_a_class(client: OpenAI) -> None:
    answer = client.chat.completions.parse(
        model=MODEL, messages=QUESTION, response_format=Animals, temperature=0, max_tokens=200
    )
    assert answer.choices[0].message.parsed is not None
    assert answer.choices[0].message.parsed.animals[0].kind in ("cat", "dog")


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_cannot_be_held_to_is_refused(client: OpenAI, stream: bool) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=MODEL,
            messages=QUESTION,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": schema},
            },
            stream=stream,
        )
    assert caught.value.param == "response_format.json_schema.schema"
    assert "'not' at '#/properties/a'" in caught.value.message


def test_the_stream_helper(client: OpenAI) -> None:
    """It raises for an answer that was cut off, so this one is made to end."""
    with client.chat.completions.stream(
        model=MODEL,
        messages=QUESTION,
        n=2,
        logprobs=True,
        stop=["a s"],
        extra_body={"logit_bias": {" sea": 100}},
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done", "logprobs.content.delta"} <= set(kinds)
    assert [choice.finish_reason for choice in final.choices] == ["stop", "stop"]
    assert [choice.message.content for choice in final.choices] == [" se", " se"]


def test_the_raw_response(client: OpenAI) -> None:
    with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=QUESTION, max_tokens=3, stream=True
    ) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        lines = [line for line in response.iter_lines() if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"


def test_leaving_a_stream_leaves_the_client_usable(client: OpenAI) -> None:
    with client.chat.completions.create(
        model=MODEL, messages=QUESTION, stream=True, extra_body={"ignore_eos": True}
    ) as stream:
        next(iter(stream))
    assert client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=2).choices


def test_the_asynchronous_client(server: Served) -> None:
    """Plain and streamed requests side by side, over one pool of connections."""

    async def ask(client: AsyncOpenAI) -> str:
        reply = await client.chat.completions.create(model=MODEL, messages=QUESTION, max_tokens=6)
        return reply.choices[0].message.content or ""

    async def stream(client: AsyncOpenAI) -> str:
        chunks = []
        async with await client.chat.completions.create(
            model=MODEL, messages=QUESTION, max_tokens=6, stream=True
        ) as chunked:
            async for chunk in chunked:
                chunks.append(chunk)
        return joined(chunks)

    async def run() -> list[str]:
        base = f"{server.url}/v1"
        async with AsyncOpenAI(base_url=base, api_key=KEY, timeout=SAFETY) as client:
            return await asyncio.gather(*(kind(client) for kind in (ask, stream) * 4))

    assert all(asyncio.run(run()))
