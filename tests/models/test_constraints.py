"""A small real model, held to schemas: it writes what fits, whatever it would rather say."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.support.fetched import real_model
from tests.support.process import SAFETY
from tests.support.weights import serving

from hubserve_server.eval.fitting import Case, load, misfit

pytestmark = pytest.mark.model

TITLES = (
    "a person, pydantic's way",
    "a tree of comments",
    "an arithmetic expression",
    "a discriminated union, pydantic's way",
    "all of with references",
    "an enum of 300 codes",
    "a pattern of a version",
    "the format date-time",
    "a tuple with a rest",
    "keys by pattern",
    "keys in other scripts",
    "nullable, OpenAPI's way",
)
CITY = {"type": "string", "maxLength": 20}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"city": CITY, "days": {"type": "integer", "minimum": 1}},
                "required": ["city", "days"],
            },
        },
    }
    for name in ("weather", "hotels")
]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with (
        serving(real_model("smollm2"), "-c", "4096") as server,
        httpx.Client(base_url=server.url, timeout=4 * SAFETY) as client,
    ):
        yield client


def ask(client: httpx.Client, text: str, **fields: Any) -> Any:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 200, **fields}
    reply = client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]


def test_what_is_not_cut_off_fits(client: httpx.Client) -> None:
    cases = [case for case in load() if case.title in TITLES]
    assert len(cases) == len(TITLES)

    def answer(case: Case) -> tuple[Case, Any]:
        schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": case.schema}}
        return case, ask(client, case.title, temperature=1, seed=3, response_format=schema)

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(answer, cases))
    whole = [(case, each) for case, each in told if each["finish_reason"] == "stop"]
    assert len(whole) >= len(TITLES) - 3
    for case, each in whole:
        assert misfit(case.schema, each["message"]["content"]) is None, (case.title, each)


def test_a_call_that_does_not_end_is_whole_at_the_limit(client: httpx.Client) -> None:
    note = {"facts": {"type": "array", "items": {"type": "string"}}, "kind": {"enum": ["a", "b"]}}
    parameters = {"type": "object", "properties": note, "required": ["facts", "kind"]}
    told = ask(
        client,
        "Write down ten facts about Rome, each a long sentence.",
        tools=[{"type": "function", "function": {"name": "note", "parameters": parameters}}],
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=60,
        temperature=0,
    )
    assert told["finish_reason"] == "length", told
    (call,) = told["message"]["tool_calls"]
    arguments = json.loads(call["function"]["arguments"])
    assert len("".join(arguments["facts"])) > 20 and arguments["kind"] in ("a", "b"), arguments


@pytest.mark.parametrize("named", [False, True])
def test_a_model_that_knows_no_tools_makes_the_call(client: httpx.Client, named: bool) -> None:
    wanted = {"type": "function", "function": {"name": "hotels"}} if named else "required"
    for seed in range(3):
        told = ask(
            client,
            "What is it like in Rome?",
            tools=TOOLS,
            tool_choice=wanted,
            parallel_tool_calls=False,
            temperature=1,
            seed=seed,
        )
        assert told["finish_reason"] == "tool_calls", told
        (call,) = told["message"]["tool_calls"]
        assert call["function"]["name"] in (["hotels"] if named else ["weather", "hotels"])
        arguments = json.loads(call["function"]["arguments"])
        assert isinstance(arguments["city"], str) and arguments["days"] >= 1
