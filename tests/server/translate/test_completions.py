"""Plain completion requests in the engine's vocabulary."""

import json
from typing import Any

import pytest

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_engine.types import Constraint, Request
from hubserve_server.body import parse
from hubserve_server.translate.completions import completion_requests
from hubserve_server.wire.completions import CompletionRequest


def translate(**fields: Any) -> list[Request]:
    body = json.dumps({"prompt": "Once", **fields}).encode()
    return completion_requests(parse(CompletionRequest, body))


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("Once", ["Once"]),
        ("", [""]),
        (["Once", ""], ["Once", ""]),
        ([1, 2], [(1, 2)]),
        ([[1, 2], [3]], [(1, 2), (3,)]),
        (["Once", [3]], ["Once", (3,)]),
    ],
)
def test_prompts_of_every_form(prompt: object, prompts: list[object]) -> None:
    assert [each.prompt for each in translate(prompt=prompt)] == prompts


@pytest.mark.parametrize(
    "prompt",
    [5, {}, [], [[]], [None], [-1], [True], [1, "a"], [[1], 2], ["a", {}], [1.5], ["x"] * 65],
)
def test_other_prompts_are_refused(prompt: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        translate(prompt=prompt)
    assert caught.value.param == "prompt"


def test_the_default_length_is_the_context() -> None:
    assert translate()[0].max_tokens is None
    assert translate(max_tokens=3)[0].max_tokens == 3


@pytest.mark.parametrize(("given", "expected"), [(None, None), (False, None), (0, 0), (5, 5)])
def test_logprobs(given: object, expected: int | None) -> None:
    assert translate(logprobs=given)[0].logprobs == expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"suffix": "end"}, "suffix"),
        ({"best_of": 3, "n": 2}, "best_of"),
        ({"echo": True, "logprobs": 1}, "echo"),
        ({"response_format": {"type": "ebnf"}}, "response_format.type"),
    ],
)
def test_what_cannot_be_done_is_said(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Unsupported) as caught:
        translate(**fields)
    assert caught.value.param == param


def test_what_binds_one_prompt_binds_all() -> None:
    requests = translate(prompt=["a", "b"], guided_choice=["x", "y"])
    assert [each.constraint for each in requests] == [
        Constraint("choice", ("x", "y"), "guided_choice")
    ] * 2


def test_harmless_forms_of_the_same_fields() -> None:
    assert translate(suffix="", best_of=1, echo=True) == translate()
