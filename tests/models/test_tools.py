"""Real models are asked what `hubserve eval tools` asks, and their calls come back as calls."""

import asyncio
import json
from collections.abc import Iterator

import jsonschema
import pytest
from tests.support.fetched import real_model
from tests.support.weights import serving

from hubserve_server.client.client import Client
from hubserve_server.eval.asking import Reply, ask
from hubserve_server.eval.cases import Case, load
from hubserve_server.eval.judging import judge

pytestmark = pytest.mark.model

CASES = load()
SIX = (
    "an enum, in the words of the request",
    "one of three, a path",
    "quotes and newlines in an argument",
    "two calls of two tools",
    "a named function",
    "none",
)
FORCED = [case for case in CASES.calls if case.send.get("tool_choice", "none") != "none"]


@pytest.fixture(scope="module")
def coder() -> Iterator[Client]:
    """It has a template with tools, and hardly ever writes what that asks for."""
    with serving(real_model("qwen2.5-coder")) as server:
        yield Client(server.url, None)


@pytest.fixture(scope="module")
def small() -> Iterator[Client]:
    """It has a template without tools, and knows nothing of them."""
    with serving(real_model("smollm2")) as server:
        yield Client(server.url, None)


def asked(client: Client, case: Case) -> Reply:
    return asyncio.run(ask(client, CASES.request(case), streamed=case.streamed))


@pytest.mark.parametrize("title", SIX)
def test_calls_come_back_as_calls(coder: Client, title: str) -> None:
    (case,) = [case for case in CASES.calls if case.title == title]
    reply = asked(coder, case)
    assert judge(CASES, case, reply) is None, reply


@pytest.mark.parametrize("case", FORCED, ids=lambda case: case.title)
def test_a_call_that_must_come_comes_from_any_model(small: Client, case: Case) -> None:
    """How many there are, and what is in them, is the model's affair, but each fits."""
    reply = asked(small, case)
    assert reply.calls and not reply.faults, reply
    assert reply.text == "" and reply.finish_reason in ("tool_calls", "length")
    (wanted,) = case.expect
    assert {call.name for call in reply.calls} == set(wanted)
    for call in reply.calls:
        schema = CASES.tools[str(call.name)].parameters
        jsonschema.validate(json.loads(call.arguments), schema)
