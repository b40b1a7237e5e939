"""Whatever comes, the answer is an answer or a clear refusal, never a fault of the server."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import error_of, events

from hubserve_engine.worker import protocol
from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.completions import CompletionRequest
from hubserve_server.wire.fields import Wire
from hubserve_server.wire.tokens import DetokenizeRequest, TokenizeRequest

PATHS: dict[str, type[Wire]] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/completions": CompletionRequest,
    "/tokenize": TokenizeRequest,
    "/detokenize": DetokenizeRequest,
    "/apply-template": ChatRequest,
}
WORDS = ["user", "assistant", "tool", "text", "function", "auto", "none", "tiny", "Hi", ""]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "function", "name"]), inner)
    ),
    max_leaves=10,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
        optional={"content": VALUES, "tool_calls": VALUES, "reasoning": VALUES},
    ),
    min_size=1,
    max_size=3,
)


def check(path: str, content: bytes) -> None:
    response = ask(FakeEngine(), "POST", path, content=content)
    if response.status_code != 200:
        assert response.status_code in (400, 404), response.text
        assert error_of(response)["type"] == "invalid_request_error"
    elif response.headers["content-type"].startswith("text/event-stream"):
        assert not any("error" in chunk for chunk in events(response.text))


@pytest.mark.parametrize("path", PATHS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_value_of_any_field(path: str, data: st.DataObject) -> None:
    fields = sorted(PATHS[path].model_fields)
    body: dict[str, Any] = data.draw(st.dictionaries(st.sampled_from(fields), VALUES, max_size=5))
    if data.draw(st.booleans()):
        body |= {"messages": data.draw(MESSAGES), "prompt": "Hi"}
    check(path, json.dumps(body).encode())


NUMBERS = [
    str(2**31),
    str(2**53 + 1),
    str(-(2**63) - 1),
    str(2**64),
    "9" * 400,
    "-" + "9" * 400,
    "9" * 4400,
    "1e300",
    "1e400",
    "-1e400",
    "1e-400",
    "NaN",
    "-0",
    "-0.0",
    "5e-1",
]
FORMS = ["%s", "[%s]", "[[%s, 1]]", "[[1, %s]]", '{"1": %s}', '{"a": [{"b": %s}]}']
TOOL = '{"type": "function", "function": {"name": "f", "parameters": {"maximum": %s}}}'


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
@pytest.mark.parametrize("path", PATHS)
def test_any_number_in_any_field(path: str, number: str) -> None:
    """It is taken, and can be sent to the model's process, or refused with the field's name."""
    needed = '"messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi"'
    for field in sorted(PATHS[path].model_fields):
        forms = [*FORMS, f"[{TOOL}]"] if field in ("tools", "functions") else FORMS
        for form in forms:
            engine = FakeEngine()
            content = f'{{{needed}, "{field}": {form % number}}}'.encode()
            response = ask(engine, "POST", path, content=content)
            for request in engine.requests:
                protocol.encode(protocol.Generate(1, request))
            for chat in engine.chats:
                protocol.encode(protocol.Render(1, chat))
            if response.status_code != 200:
                assert response.status_code == 400, (content[:200], response.text)
                error = error_of(response)
                named = (error["param"] or "").split(".")[0] == field
                assert named or "not valid JSON" in error["message"], error


@pytest.mark.parametrize("path", PATHS)
@settings(deadline=None, max_examples=30)
@given(content=st.binary(max_size=50))
def test_any_bytes(path: str, content: bytes) -> None:
    check(path, content)
