"""Calls as models are known to write them, right and nearly right, in pieces of any size."""

from typing import Any

import pytest
from tests.engine.output.test_scanner import found, scan

PARIS = {"city": "Paris"}
W = ("get_weather", PARIS)
NONE: tuple[str, dict[str, Any]] = ("get", {})
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
OBJECT = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
LLAMA = '{"name": "get_weather", "parameters": {"city": "Paris"}}'

CALLS: list[tuple[str, str, list[tuple[str, dict[str, Any]]], str]] = [
    ("hermes", f"<tool_call>{OBJECT}\n{OBJECT}</tool_call>", [W, W], ""),
    ("hermes", f"<tool_call>{OBJECT}</tool_call></tool_call>\nSo.", [W], "So."),
    ("hermes", '<tool_call>{"name": "get", "arguments": ""}</tool_call>', [NONE], ""),
    ("hermes", '<tool_call>{"name": "get", "arguments": []}</tool_call>', [NONE], ""),
    ("hermes", f"```json\n{OBJECT}\n```\n```json\n{OBJECT}\n```", [W, W], ""),
    ("hermes", f"A:\n```json\n{OBJECT}\n```\n\nB:\n```\n{OBJECT}\n```", [W, W], "A:\n\nB:"),
    ("hermes", f"```json\n{OBJECT}\n```\n```py\nprint()\n```", [W], "```py\nprint()\n```"),
    ("hermes", f'```json\n{{"tool_calls": [{OBJECT}, {OBJECT}]}}\n```\nSo.', [W, W], "So."),
    ("hermes", f'{{"tool_calls": [{OBJECT}]}}', [W], ""),
    ("hermes", f"```xml\n{HERMES}\n```\nSo.", [W], "So."),
    ("qwen-xml", "<tool_call><function=get></function></tool_call>", [NONE], ""),
    ("qwen-xml", "<tool_call>\n<function=get>\n</function>\n\n</tool_call>\n", [NONE], ""),
    (
        "qwen-xml",
        '<tool_call>\n<function=get_weather>\n{"city": "Paris"}\n</function>\n</tool_call>',
        [W],
        "",
    ),
    ("llama", f"{LLAMA}; {LLAMA}", [W, W], ""),
    ("llama", f"{LLAMA}\n{LLAMA}", [W, W], ""),
    ("mistral", '[TOOL_CALLS]get_weather{"city": "Paris"}[TOOL_CALLS]get{}', [W, NONE], ""),
    ("mistral", f"[TOOL_CALLS][{OBJECT}]", [W], ""),
    ("lfm2", f"<|tool_call_start|>[{OBJECT}, {OBJECT}]<|tool_call_end|>So.", [W, W], "So."),
    ("lfm2", '<|tool_call_start|>get_weather(city="Paris")<|tool_call_end|>', [W], ""),
    ("generic", 'So:\n```tool_code\nget_weather(city="Paris")\n```', [W], "So:"),
    ("generic", '```tool_code\nprint(get_weather(city="Paris"))\n```\nSo.', [W], "So."),
    ("functionary-recipients", '>>>get_weather\n{"city": "Paris"}>>>get\n{}', [W, NONE], ""),
    (
        "functionary-recipients",
        'Look:\n>>> get_weather("Paris")\n>>>get_weather\n{"city": "Paris"}',
        [W],
        'Look:\n>>> get_weather("Paris")',
    ),
    (
        "function-gemma",
        "<start_function_call>call:get_weather{city:<escape>Paris<escape>}<end_function_call>",
        [W],
        "",
    ),
]


@pytest.mark.parametrize(("format", "text", "calls", "said"), CALLS)
def test_a_call(format: str, text: str, calls: list[tuple[str, dict[str, Any]]], said: str) -> None:
    for size in (1, 3, 8, len(text)):
        read = scan(text, format, sizes=[size])
        assert (found(read), read.text, read.whole) == (calls, said, len(calls))


@pytest.mark.parametrize("stopped", [True, False])
def test_a_part_of_what_closes_a_call_is_no_text(stopped: bool) -> None:
    for cut in range(1, len("</tool_call>")):
        read = scan(HERMES[:-cut], "hermes", sizes=[5], stopped=stopped)
        assert (found(read), read.text, read.cut) == ([W], "", None)


TEXTS = [
    '{"name": "get_weather", "description": "It looks.", "parameters": {"type": "object"}}',
    '{"name": "get_weather", "color": "red"}',
    '```python\nget_weather(city="Paris")\n```',
    '```tool_code\nget_weather(city="Paris"\n```',
    'Use get_weather(city="Paris") here.',
    "<start_function_call>call:unknown{}<end_function_call>",
    ']<]minimax[>[<invoke name="get">' + "]<]minimax[>[<a>" * 1200 + "]<]minimax[>[</invoke>",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:40])
@pytest.mark.parametrize("format", ["hermes", "llama", "mistral", "minimax-m3"])
def test_no_call(format: str, text: str) -> None:
    for size in (1, 7, len(text)):
        read = scan(text, format, sizes=[size])
        assert (read.calls, read.text) == ([], text)


def test_beginnings_of_calls_in_each_other_are_read_once() -> None:
    """A model that repeats itself must not keep the server busy."""
    begun = '{"name": "get_weather", "arguments": {"city":\n' * 300
    for text in (begun, begun + "1" + '}, "more": 1}' * 300):
        for size in (50, len(text)):
            assert scan(text, "hermes", sizes=[size], stopped=False).text == text
