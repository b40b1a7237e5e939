"""Tokenizing, detokenizing and rendering over HTTP, in llama-server's shapes."""

import httpx
import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import error_of, live

from hubserve_engine.config import LONGEST_TEXT


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"content": "Hi"}, [72, 105]),
        ({"content": "Hi", "add_special": True}, [1, 72, 105]),
        ({"content": ["H", 7, "i"], "add_special": True}, [1, 72, 7, 105]),
        ({"content": ""}, []),
        ({}, []),
    ],
)
def test_tokenize(body: object, tokens: list[int]) -> None:
    assert ask(FakeEngine(), "POST", "/tokenize", body=body).json() == {"tokens": tokens}


def test_pieces_that_are_no_characters_are_bytes() -> None:
    response = ask(FakeEngine(), "POST", "/tokenize", body={"content": "aé", "with_pieces": True})
    assert response.json() == {
        "tokens": [
            {"id": 97, "piece": "a"},
            {"id": 0xC3, "piece": [0xC3]},
            {"id": 0xA9, "piece": [0xA9]},
        ]
    }


def test_detokenize() -> None:
    response = ask(FakeEngine(), "POST", "/detokenize", body={"tokens": [72, 105]})
    assert response.json() == {"content": "Hi"}
    assert ask(FakeEngine(), "POST", "/detokenize", body={}).json() == {"content": ""}


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/tokenize", {"content": 5}, "content"),
        ("/tokenize", {"content": [1.5]}, "content"),
        ("/tokenize", {"content": "x", "add_special": 1}, "add_special"),
        ("/detokenize", {"tokens": "x"}, "tokens"),
        ("/detokenize", {"tokens": [True]}, "tokens"),
        ("/detokenize", {"tokens": [2**40]}, "tokens"),
        ("/detokenize", {"tokens": [999]}, "tokens"),
        ("/tokenize", {"content": "x" * (LONGEST_TEXT + 1)}, "content"),
        ("/tokenize", {"content": ["x" * LONGEST_TEXT, 5, "x"]}, "content"),
        ("/tokenize", {"content": ["x"] * 257}, "content"),
        ("/apply-template", {}, "messages"),
    ],
)
def test_wrong_bodies(path: str, body: object, param: str) -> None:
    response = ask(FakeEngine(), "POST", path, body=body)
    assert response.status_code == 400
    assert error_of(response)["param"] == param


def test_apply_template_renders_what_a_chat_request_would() -> None:
    engine = FakeEngine()
    body = {
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user"}],
        "enable_thinking": False,
    }
    response = ask(engine, "POST", "/apply-template", body=body)
    assert response.json() == {"prompt": "<system>Be brief.<user>"}
    assert engine.chats[0].reasoning == "off"
    assert engine.requests == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tokenize", {"content": "Hi"}),
        ("/detokenize", {"tokens": [72]}),
        ("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]}),
    ],
)
def test_a_client_that_leaves_takes_its_question_back(path: str, body: object) -> None:
    engine = FakeEngine(stuck=True)
    with live(engine) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post(path, json=body, timeout=0.3)
        assert engine.left.wait(5)
