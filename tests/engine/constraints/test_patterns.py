import json
import re
from typing import Any

import pytest
from tests.engine.constraints.test_answer import constraints, takes

from hubserve_engine.constraints.patterns import whole
from hubserve_engine.profiles import PLAIN
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.types import Chat, Message, Rendered, Request, ToolUse

FOUND = ["ab", "xaby", "b", "a\nb", "", "aab", "a|b", "^a", "a$", "[a", "é-1", "it's", '"q"', "\\"]
PATTERNS = [
    "^ab$",
    "ab",
    "^a",
    "b$",
    "",
    "a|b",
    "^(a|b)$",
    "^[^a]$",
    r"^\^a",
    r"a\$$",
    r"[$^]",
    r"\|",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", FOUND)
def test_a_whole_text_fits_where_the_pattern_is_found_in_it(pattern: str, text: str) -> None:
    expression = whole(pattern)
    assert expression is not None
    found = re.search(pattern, text) is not None and not text.endswith("\n")
    assert (re.fullmatch(expression, text) is not None) == found


@pytest.mark.parametrize("pattern", ["^a|b$", "a|b$", "a^b", "(^a|b)", "a$b", "(a$)", 5, None])
def test_what_is_said_of_ends_elsewhere_is_not_known(pattern: Any) -> None:
    assert whole(pattern) is None


DAY = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
PATH = {"type": "string", "pattern": "/", "minLength": 2, "maxLength": 9}
CODE = {"type": ["string", "null"], "pattern": "^[a-z]+$"}
SCHEMA = {
    "type": "object",
    "properties": {"day": DAY, "path": PATH, "code": CODE},
    "required": ["day", "path", "code"],
    "additionalProperties": False,
}
RIGHT = {"day": "2026-12-01", "path": "a/b\n<x>", "code": "abc"}
WRONG = [
    {**RIGHT, "day": "2026-12-1"},
    {**RIGHT, "day": "2026-12-01x"},
    {**RIGHT, "path": "ab"},
    {**RIGHT, "path": "/"},
    {**RIGHT, "path": "/234567890"},
    {**RIGHT, "code": "A"},
]
OWN = ["qwen-xml", "glm", "seed", "minimax-m2", "deepseek-dsml", "gemma", "lfm2", "minimax-m3"]


@pytest.mark.parametrize("use", [ToolUse("required"), ToolUse(strict=True)], ids=lambda u: u.choice)
@pytest.mark.parametrize("format", OWN)
def test_a_pattern_is_held_to_in_the_formats_own_way_to_write_a_text(
    format: str, use: ToolUse
) -> None:
    tool = {"type": "function", "function": {"name": "odd", "parameters": SCHEMA}}
    request = Request(Chat((Message("user", "hi"),), tools=(tool,)), tool_use=use)

    def fits(arguments: dict[str, Any]) -> bool:
        (held,) = constraints(PLAIN, format).guides(
            request, Rendered("", False), may_think=True, room=10**6
        )
        layout = FORMATS[format].layouts[0]
        return takes(held, layout.written([("", "odd", arguments)]).rstrip())

    right = {**RIGHT, "path": "a/b"} if format == "lfm2" else RIGHT
    assert fits(right), json.dumps(right)
    for wrong in WRONG:
        assert not fits(wrong), wrong
