"""The set is what it says: every request can be answered, and right answers are right."""

import json
from collections.abc import Iterator

import jsonschema
import pytest

from hubserve_server.eval.asking import Made, Reply
from hubserve_server.eval.cases import Case, forced, load
from hubserve_server.eval.judging import judge

CASES = load()


def test_it_is_as_large_as_the_report_says() -> None:
    assert (len(CASES.calls), len(CASES.texts)) == (20, 10)
    for group in (CASES.calls, CASES.texts):
        assert len({case.title for case in group}) == len(group)
        assert sum(case.streamed for case in group) == len(group) / 2
    assert not any(case.expect for case in CASES.texts)


def test_whoever_offers_tools_can_be_forced_to_a_call() -> None:
    cases = forced(CASES, 3)
    assert not cases.texts
    assert len(cases.calls) >= 50
    for case in cases.calls:
        assert cases.request(case)["seed"] == 3
        choice = cases.request(case)["tool_choice"]
        named = choice["function"]["name"] if isinstance(choice, dict) else None
        assert case.forced == ((named,) if named else case.offer)


def expected() -> Iterator[tuple[str, dict[str, object]]]:
    for case in CASES.calls:
        for call in case.expect:
            yield from call.items()


@pytest.mark.parametrize(("name", "arguments"), list(expected()))
def test_what_is_expected_fits_the_tool(name: str, arguments: dict[str, object]) -> None:
    schema = CASES.tools[name].parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(arguments, schema)


@pytest.mark.parametrize("case", CASES.calls, ids=lambda case: case.title)
def test_the_answer_that_is_meant_is_right(case: Case) -> None:
    assert judge(CASES, case, meant(case)) is None
    assert set(case.offer) >= {name for call in case.expect for name in call}


def meant(case: Case) -> Reply:
    if not case.expect:
        return Reply("Hello.", finish_reason="stop")
    calls = [next(iter(call.items())) for call in case.expect]
    made = [Made(f"call_{n}", name, json.dumps(given)) for n, (name, given) in enumerate(calls)]
    return Reply(calls=tuple(made), finish_reason="tool_calls")


def test_a_request_has_its_tools_and_its_own_fields() -> None:
    (named,) = [case for case in CASES.calls if case.title == "a named function"]
    request = CASES.request(named)
    assert [tool["function"]["name"] for tool in request["tools"]] == ["run_command", "read_file"]
    assert request["tools"][1]["function"]["parameters"]["required"] == ["path"]
    assert request["tool_choice"]["function"] == {"name": "read_file"}
    assert request["temperature"] == 0
