"""Calls whose arguments follow their name, in each way to write arguments."""

import json
from typing import Any

import pytest
from tests.engine.output.test_scanner import TOOLS

from hubserve_engine.output.named_reading import NamedReading
from hubserve_engine.output.offer import Offer
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.tool_formats.layout import NamedBody
from hubserve_engine.types import ToolUse

OFFER = Offer(TOOLS, ToolUse())


def read(format: str, text: str, *, stopped: bool = True, size: int = 1) -> tuple[str, Any]:
    layout = FORMATS[format].layouts[0]
    assert isinstance(layout.body, NamedBody)
    reading = NamedReading(layout.body, layout.call[1], OFFER)
    out = "".join(reading.feed(text[at : at + size]) for at in range(0, len(text), size))
    if reading.state == "open":
        out += reading.finish(stopped)
    return reading.state, json.loads(out) if reading.state == "done" else None


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("mistral", 'get_weather[ARGS]{"city": "Paris"}', {"city": "Paris"}),
        ("kimi", 'get_weather:12<|tool_call_argument_begin|>{"days": "3"}', {"days": 3}),
        ("gemma", 'get_weather{city:<|"|>a "b"<|"|>,warm:true}', {"city": 'a "b"', "warm": True}),
        ("qwen-xml", "get_weather>\n</function>", {}),
        (
            "qwen-xml",
            "get_weather>\n<parameter=city>\n<b>\n\n</parameter>\n"
            "<parameter=days>\n3\n</parameter>\n<parameter=warm>\nTrue\n</parameter>\n"
            '<parameter=places>\n["a"]\n</parameter>\n</function>',
            {"city": "<b>\n", "days": 3, "warm": True, "places": ["a"]},
        ),
        ("qwen-xml", "get_weather><parameter=city>3</parameter>", {"city": "3"}),
        ("qwen-xml", "get>\n<parameter=x>\n3\n</parameter>\n</function>", {"x": 3}),
        ("glm", "get_weather\n<arg_key>city</arg_key>\n<arg_value>R</arg_value>\n", {"city": "R"}),
        ("glm", "get_weather</tool_call>", {}),
        (
            "deepseek-dsml",
            'get">\n<｜DSML｜parameter name="a" string="true">3</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="b" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>',
            {"a": "3", "b": 3},
        ),
        (
            "minicpm",
            'get_weather"><param name="city"><![CDATA[a </param> b]]></param></function>',
            {"city": "a </param> b"},
        ),
        ("lfm2", "get_weather(city='it\\'s', days=3, more={'a': None})", None),
        ("lfm2", "get()", {}),
        (
            "minimax-m3",
            'get_weather">]<]minimax[>[<city>a]<]minimax[>[</city>]<]minimax[>[<places>'
            "]<]minimax[>[<item>b]<]minimax[>[</item>]<]minimax[>[</places>]<]minimax[>[</invoke>",
            {"city": "a", "places": ["b"]},
        ),
    ],
)
def test_arguments_have_the_types_of_the_schema(format: str, text: str, expected: Any) -> None:
    if expected is None:
        expected = {"city": "it's", "days": 3, "more": {"a": None}}
    for size in (1, 5, len(text)):
        assert read(format, text, size=size) == ("done", expected)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("mistral", "get_time[ARGS]{}"),
        ("mistral", "get_weather[TIME]{}"),
        ("mistral", "get_weather[ARGS][1]"),
        ("qwen-xml", "get_weather>\nso</function>"),
        ("glm", "get_weathers\n</tool_call>"),
        ("lfm2", "get_weather('Paris')"),
        ("lfm2", "get_weather(x + 1)"),
        ("minimax-m3", 'get_weather">]<]minimax[>[<city>a]<]minimax[>[</invoke>'),
    ],
)
def test_what_is_no_call(format: str, text: str) -> None:
    for size in (1, len(text)):
        assert read(format, text, size=size)[0] == "failed"


@pytest.mark.parametrize("format", ["mistral", "qwen-xml", "glm", "gemma", "lfm2", "minimax-m3"])
def test_a_value_that_is_cut_off_is_no_call(format: str) -> None:
    layout = FORMATS[format].layouts[0]
    written = layout.written([("a", "get_weather", {"city": "Par"})])
    begin = written.index("get_weather")
    text = written[begin : written.index("Par") + 3]
    for stopped in (True, False):
        assert read(format, text, stopped=stopped)[0] == "failed"
