"""Answers held to a form, from a request to what a client reads; the model is a script."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.live_server import events
from tests.support.process import SAFETY, script, served

CAT = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "lives": {"enum": [7, 9]}},
    "required": ["name", "lives"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "cat", "schema": CAT}}
TOOL = {
    "type": "function",
    "function": {"name": "adopt", "parameters": CAT},
}
RULES: list[dict[str, Any]] = [
    {"when": "ponder", "say": '<think>\nA {"cat"}? </think>{"name": "Mia", "lives": 9} there!'},
    {"when": "only say", "say": "I would rather not."},
    {"say": '{"name": "Mia", "lives": 9} there!'},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    model = script(tmp_path_factory.mktemp("model"), *RULES)
    with served(model) as server, httpx.Client(base_url=server.url, timeout=SAFETY) as client:
        yield client


def ask(client: httpx.Client, text: str, **fields: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 1500, **fields}
    return client.post("/v1/chat/completions", json=body)


def choice(reply: httpx.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]


WAYS: list[dict[str, Any]] = [
    {"response_format": FORMAT},
    {"json_schema": CAT},
    {"guided_json": CAT},
    {"structured_outputs": {"json": CAT}},
    {"grammar": 'root ::= "{\\"name\\": \\"Mia\\", \\"lives\\": " [0-9] "}"'},
    {"guided_regex": r'\{"name": "[A-Z][a-z]+", "lives": \d\}'},
    {"guided_choice": ["Mia", '{"name": "Mia", "lives": 9}']},
]


@pytest.mark.parametrize("fields", WAYS, ids=lambda fields: next(iter(fields)))
def test_the_answer_ends_where_its_form_does(client: httpx.Client, fields: dict[str, Any]) -> None:
    told = choice(ask(client, "a cat", chat_template_kwargs={"enable_thinking": False}, **fields))
    assert told["message"]["content"] == '{"name": "Mia", "lives": 9}'
    assert told["finish_reason"] == "stop"
    body = {"prompt": "a cat", "max_tokens": 300, **fields}
    plain = choice(client.post("/v1/completions", json=body))
    assert (plain["text"], plain["finish_reason"]) == ('{"name": "Mia", "lives": 9}', "stop")


def test_thinking_is_free_and_the_answer_held(client: httpx.Client) -> None:
    told = choice(ask(client, "ponder", response_format=FORMAT))
    assert told["message"]["reasoning_content"].strip() == 'A {"cat"}?'
    assert told["message"]["content"] == '{"name": "Mia", "lives": 9}'


def test_a_stream_says_the_same(client: httpx.Client) -> None:
    told = events(ask(client, "ponder", response_format=FORMAT, stream=True).text)
    choices = [chunk["choices"][0] for chunk in told]
    text = "".join(each["delta"].get("content") or "" for each in choices)
    assert text == '{"name": "Mia", "lives": 9}'
    assert choices[-1]["finish_reason"] == "stop"


def test_one_that_is_cut_off_says_so(client: httpx.Client) -> None:
    told = choice(ask(client, "a cat", json_schema=CAT, max_tokens=12, enable_thinking=False))
    assert told["message"]["content"] == '{"name": "Mi'
    assert told["finish_reason"] == "length"


def test_an_end_that_is_forbidden_holds_nothing_up(client: httpx.Client) -> None:
    told = choice(ask(client, "a cat", json_schema=CAT, ignore_eos=True, enable_thinking=False))
    assert (told["message"]["content"], told["finish_reason"]) == (
        '{"name": "Mia", "lives": 9}',
        "stop",
    )


def test_probabilities_come_with_every_token(client: httpx.Client) -> None:
    told = choice(ask(client, "a cat", json_schema=CAT, logprobs=True, enable_thinking=False))
    tokens = [each["token"] for each in told["logprobs"]["content"]]
    assert "".join(tokens) == told["message"]["content"] == '{"name": "Mia", "lives": 9}'


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}},
            "response_format.json_schema.schema",
            "'not' at '#'",
        ),
        ({"grammar": "root ::= ["}, "grammar", "GBNF"),
        ({"guided_regex": "(?=a)"}, "guided_regex", "look-around"),
        ({"json_schema": {}, "grammar": "x"}, "grammar", "both say"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_held_to_is_refused(
    client: httpx.Client, fields: dict[str, Any], param: str, said: str, stream: bool
) -> None:
    reply = ask(client, "a cat", stream=stream, **fields)
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"] == param and said in error["message"]


NAMED = {"type": "function", "function": {"name": "adopt"}}


@pytest.mark.parametrize("choice_", ["required", NAMED])
@pytest.mark.parametrize("text", ["a cat", "only say", "ponder"])
def test_a_call_that_is_required_comes(client: httpx.Client, text: str, choice_: Any) -> None:
    reply = ask(client, text, tools=[TOOL], tool_choice=choice_, parallel_tool_calls=False)
    told = choice(reply)
    assert told["finish_reason"] == "tool_calls", told
    (call,) = told["message"]["tool_calls"]
    assert call["function"]["name"] == "adopt"
    arguments = json.loads(call["function"]["arguments"])
    assert set(arguments) == {"name", "lives"} and arguments["lives"] in (7, 9)


def test_others_run_on_beside_what_is_refused_or_left(client: httpx.Client) -> None:
    messages = [{"role": "user", "content": "a cat"}]
    body = {"messages": messages, "json_schema": CAT, "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=body) as left:
        next(left.iter_lines())
    again = choice(ask(client, "a cat", json_schema=CAT, enable_thinking=False))
    assert again["message"]["content"] == '{"name": "Mia", "lives": 9}'
