"""Tool calls through the OpenAI SDK for Python. What the model writes is scripted."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from pydantic import BaseModel
from tests.support.process import SAFETY, script, served

CITIES = ("São Paulo", 'the "old" town\nby the sea')


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    days: int = 1


WEATHER: ChatCompletionToolUnionParam = openai.pydantic_function_tool(Weather, name="get_weather")
RULES: list[dict[str, Any]] = [
    {"when": "22 degrees", "say": "It is 22 degrees."},
    {
        "when": "two places",
        "say": "I look.\n"
        + "\n".join(
            f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'
            for arguments in (
                json.dumps({"city": city, "days": 2}, ensure_ascii=False) for city in CITIES
            )
        ),
    },
    {"when": "a long one", "say": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "'},
]
ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "two places"}]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    model = script(tmp_path_factory.mktemp("script"), *RULES)
    with (
        served(model, "-c", "8192", "-np", "2") as server,
        OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0, timeout=SAFETY) as client,
    ):
        yield client


def test_calls_and_their_results(client: OpenAI) -> None:
    reply = client.chat.completions.create(model="default", messages=ASK, tools=[WEATHER])
    (choice,) = reply.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I look."
    calls = choice.message.tool_calls or []
    made = [json.loads(call.function.arguments) for call in calls if call.type == "function"]
    assert made == [{"city": city, "days": 2} for city in CITIES]
    history: list[Any] = [*ASK, choice.message]
    history += [
        {"role": "tool", "tool_call_id": call.id, "content": "22 degrees"} for call in calls
    ]
    reply = client.chat.completions.create(model="default", messages=history, tools=[WEATHER])
    assert reply.choices[0].message.content == "It is 22 degrees."
    assert reply.choices[0].finish_reason == "stop"


def test_the_sdk_parses_arguments_by_the_tools_model(client: OpenAI) -> None:
    reply = client.chat.completions.parse(model="default", messages=ASK, tools=[WEATHER])
    calls = reply.choices[0].message.tool_calls or []
    assert [call.function.parsed_arguments for call in calls] == [
        Weather(city=city, days=2) for city in CITIES
    ]


def test_the_sdks_stream_puts_calls_together(client: OpenAI) -> None:
    with client.chat.completions.stream(model="default", messages=ASK, tools=[WEATHER]) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert [(event.index, event.name) for event in done] == [(0, "get_weather"), (1, "get_weather")]
    assert [event.parsed_arguments for event in done] == [
        Weather(city=city, days=2) for city in CITIES
    ]
    (choice,) = final.choices
    assert choice.finish_reason == "tool_calls"
    calls = choice.message.tool_calls or []
    assert len({call.id for call in calls}) == 2
    assert choice.message.content == "I look."


def test_a_call_that_is_cut_off_is_a_length(client: OpenAI) -> None:
    ask: list[ChatCompletionMessageParam] = [{"role": "user", "content": "a long one"}]
    limit = len(RULES[-1]["say"])
    reply = client.chat.completions.create(
        model="default", messages=ask, tools=[WEATHER], max_tokens=limit
    )
    (choice,) = reply.choices
    assert choice.finish_reason == "length"
    assert choice.message.tool_calls is None
    assert choice.message.content == RULES[-1]["say"]


def test_a_choice_of_a_tool_that_is_not_offered(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="get_weather") as caught:
        client.chat.completions.create(
            model="default",
            messages=ASK,
            tools=[WEATHER],
            tool_choice={"type": "function", "function": {"name": "get_time"}},
        )
    assert caught.value.param == "tool_choice"
