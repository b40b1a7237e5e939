"""Whether a reply is right, and if not, why."""

import json
import re
from typing import Any

import jsonschema

from hubserve_server.eval.asking import Made, Reply
from hubserve_server.eval.cases import Case, CaseSet

MARKUP = re.compile(r"```|</?tool_call|<function|\"(arguments|parameters)\"|\[TOOL_CALLS\]")
"""Remains of a call in the text beside it."""
_CUT = "cut off before the call was whole"


def judge(cases: CaseSet, case: Case, reply: Reply) -> str | None:
    """What is wrong first; None for what is right.

    Values are equal to those expected but for white space around texts. Text beside calls is no
    fault, as long as nothing of a call is in it.
    """
    if reply.faults:
        return reply.faults[0]
    if case.forced:
        return _judge_forced(cases, case, reply)
    if not case.expect:
        return _judge_text(reply)
    expected = [next(iter(call.items())) for call in case.expect]
    if not reply.calls:
        return f"no call, but {reply.finish_reason!r} and the text {_short(reply.text)}"
    names = [call.name for call in reply.calls]
    if sorted(map(str, names)) != sorted(name for name, _ in expected):
        return f"calls of {', '.join(map(str, names))}"
    if reply.finish_reason != "tool_calls":
        return f"calls, but the finish reason {reply.finish_reason!r}"
    found: list[tuple[str, Any]] = []
    for call in reply.calls:
        arguments, wrong = _arguments(cases, call)
        if wrong:
            return wrong
        found.append((str(call.name), _stripped(arguments)))
    for name, wanted in expected:
        if (name, _stripped(wanted)) not in found:
            return f"{name} is not called with {_short(json.dumps(wanted))}: {_shown(reply.calls)}"
    if MARKUP.search(reply.text):
        return f"false text beside the call: {_short(reply.text)}"
    return None


def _judge_text(reply: Reply) -> str | None:
    if reply.calls:
        return f"a false call: {_shown(reply.calls)}"
    if reply.finish_reason not in ("stop", "length"):
        return f"text, but the finish reason {reply.finish_reason!r}"
    return None if reply.text.strip() else "neither text nor a call"


def _judge_forced(cases: CaseSet, case: Case, reply: Reply) -> str | None:
    limited = reply.finish_reason == "length"
    if len(reply.calls) != 1 or reply.calls[0].name not in case.forced:
        other = f"not one call of {' or '.join(case.forced)}: {_shown(reply.calls)}"
        return _CUT if limited else other
    if not limited and reply.finish_reason != "tool_calls":
        return f"a call, but the finish reason {reply.finish_reason!r}"
    wrong = _arguments(cases, reply.calls[0])[1]
    # Of a stream that was cut off, part of the call has come.
    return _CUT if wrong and limited else wrong


def _arguments(cases: CaseSet, call: Made) -> tuple[Any, str | None]:
    """What the text of the arguments says, and whether it is no JSON or does not fit."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return None, f"arguments that are no JSON: {_short(call.arguments)}"
    schema = cases.tools[str(call.name)].parameters
    error = jsonschema.Draft202012Validator(schema).iter_errors(arguments)
    first = next(iter(error), None)
    return arguments, f"arguments that do not fit: {first.message}" if first else None


def _stripped(value: Any) -> Any:
    """White space around a text, such as a newline at a file's end, is as good as none."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_stripped(each) for each in value]
    if isinstance(value, dict):
        return {key: _stripped(each) for key, each in value.items()}
    return value


def _shown(calls: tuple[Made, ...]) -> str:
    return _short(", ".join(f"{call.name} {call.arguments}" for call in calls))


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else f"{text[:117]}...")
