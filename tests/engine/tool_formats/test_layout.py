from typing import Any

import pytest

from hubserve_engine.tool_formats import FORMATS

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("a1", "look", {"at": "here", "n": 2}),
    ("b2", "tell", {"all": [True, None]}),
]
WRITTEN = {
    "hermes": (
        '<tool_call>\n{"name": "look", "arguments": {"at": "here", "n": 2}}\n</tool_call>\n'
        '<tool_call>\n{"name": "tell", "arguments": {"all": [true, null]}}\n</tool_call>'
    ),
    "mistral-list": (
        '[TOOL_CALLS][{"name": "look", "arguments": {"at": "here", "n": 2}, "id": "a1"}, '
        '{"name": "tell", "arguments": {"all": [true, null]}, "id": "b2"}]'
    ),
    "mistral-ids": (
        '[TOOL_CALLS]look[CALL_ID]a1[ARGS]{"at": "here", "n": 2}'
        '[TOOL_CALLS]tell[CALL_ID]b2[ARGS]{"all": [true, null]}'
    ),
    "qwen-xml": (
        "<tool_call>\n<function=look>\n<parameter=at>\nhere\n</parameter>\n"
        "<parameter=n>\n2\n</parameter>\n</function>\n</tool_call>\n"
        "<tool_call>\n<function=tell>\n<parameter=all>\n[true, null]\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "gemma": (
        '<|tool_call>call:look{at:<|"|>here<|"|>,n:2}<tool_call|>'
        "<|tool_call>call:tell{all:[true,null]}<tool_call|>"
    ),
    "lfm2": ("<|tool_call_start|>[look(at='here', n=2), tell(all=[True, None])]<|tool_call_end|>"),
    "apertus": (
        '<|tools_prefix|>[{"look": {"at": "here", "n": 2}}, {"tell": {"all": [true, null]}}]'
        "<|tools_suffix|>"
    ),
    "minimax-m3": (
        "]<]minimax[>[<tool_call>\n"
        ']<]minimax[>[<invoke name="look">]<]minimax[>[<at>here]<]minimax[>[</at>'
        "]<]minimax[>[<n>2]<]minimax[>[</n>]<]minimax[>[</invoke>\n"
        ']<]minimax[>[<invoke name="tell">]<]minimax[>[<all>]<]minimax[>[<item>true'
        "]<]minimax[>[</item>]<]minimax[>[<item>null]<]minimax[>[</item>]<]minimax[>[</all>"
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
    ),
}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_calls_are_written_as_the_template_writes_them(name: str) -> None:
    assert FORMATS[name].layouts[0].written(CALLS) == WRITTEN[name]
