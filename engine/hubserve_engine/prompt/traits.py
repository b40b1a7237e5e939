"""What a template takes, found by rendering short histories and looking for their words."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product, takewhile
from typing import Any

from hubserve_engine.prompt.messages import (
    REASONING_KEYS,
    CallContent,
    Plain,
    Traits,
    normalize,
    plain,
)
from hubserve_engine.prompt.program import Refused
from hubserve_engine.types import Message, ToolCall

Render = Callable[[list[Plain], list[Plain] | None], str]
"""Renders messages and tools with a generation prompt; may raise `Refused`."""

_ASK = Message("user", "wordask")
_TELL = Message("assistant", "wordtell")
_TOOL: Plain = {
    "type": "function",
    "function": {
        "name": "declared",
        "description": "declared",
        "parameters": {
            "type": "object",
            "properties": {"declared": {"type": "string", "description": "declared"}},
            "required": ["declared"],
        },
    },
}
_CALL = ToolCall("call_with_a_long_name", "wordcall", '{"wordkey": "wordvalue"}')
_OTHER = ToolCall("call_with_another_name", "wordother", '{"wordkey": "wordvalue"}')
_RESULT = Message("tool", "wordresult", tool_call_id=_CALL.id)
_OTHER_RESULT = Message("tool", "wordoutcome", tool_call_id=_OTHER.id)
# How arguments and content look that went in as the wrong kind.
_WRONG = ("{'wordkey'", '\\"wordkey', "None")
_WRONG_PART = ("'wordthought'", '"wordthought')
_BEFORE = 40  # characters
_CONTENTS: tuple[CallContent, ...] = ("empty", "null", "absent")


def find_traits(attributes: Iterable[str], render: Render) -> Traits:
    """The traits of the template which reads `attributes` of its objects."""
    names = frozenset(attributes)
    keys = tuple(key for key in REASONING_KEYS if key in names)
    traits = Traits(reasoning_keys=keys or REASONING_KEYS[:1])
    look = _Look(render)
    for parts, null in product((False, True), (True, False)):
        tried = replace(traits, parts=parts, tools_null=null)
        if look.has((_ASK,), tried, "wordask"):
            return _with_thinking(look, _with_tools(look, _with_system(look, tried)))
    return traits


def shown_call(traits: Traits, render: Render) -> str:
    """What the template makes of a call, and some of what is before; empty where it shows none."""
    look = _Look(render)
    history = (_ASK, Message("assistant", tool_calls=(_CALL,)), _RESULT)
    before = look.text((_ASK,), traits, tools=True)
    text = look.text(history, traits, tools=True)
    # The prompt for an answer may begin as the call does.
    same = max(0, _common(before, text) - _BEFORE)
    call, _, _ = text[same:].partition("wordresult")
    return call if traits.calls and "wordcall" in call else ""


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class _Look:
    """Renders histories to see which of their words arrive."""

    def __init__(self, render: Render) -> None:
        self._render = render

    def text(self, messages: tuple[Message, ...], traits: Traits, *, tools: bool) -> str:
        """The prompt; empty where the template refuses."""
        given: list[Any] | None = [_TOOL] if tools else None if traits.tools_null else []
        try:
            return self._render(plain(normalize(messages, traits), traits), given)
        except Refused:
            return ""

    def has(
        self, messages: tuple[Message, ...], traits: Traits, *words: str, tools: bool = False
    ) -> bool:
        text = self.text(messages, traits, tools=tools)
        return all(word in text for word in words)


def _with_system(look: _Look, traits: Traits) -> Traits:
    rule, late = Message("system", "wordrule"), Message("system", "wordlate")
    if not look.has((rule, _ASK), traits, "wordrule", "wordask"):
        return replace(traits, system="none")
    histories = ((rule, _ASK, _TELL, late, _ASK), (rule, late, _ASK))
    if all(look.has(history, traits, "wordrule", "wordlate") for history in histories):
        return traits
    return replace(traits, system="first")


def _with_tools(look: _Look, traits: Traits) -> Traits:
    traits = replace(traits, tools=look.has((_ASK,), traits, "declared", tools=True))
    shaped = _call_shape(look, traits)
    stray = look.has((_ASK, _TELL, _RESULT), traits, "wordtell", "wordresult", tools=True)
    if shaped is None:
        return replace(traits, calls=False, results=stray)
    shaped = replace(shaped, stray_results=stray)
    spoken = (_ASK, Message("assistant", "wordtext", tool_calls=(_CALL,)), _RESULT)
    words: tuple[str, ...] = ("wordtext", "wordcall", "wordresult")
    apart = replace(shaped, text_beside_calls=False)
    if not look.has(spoken, shaped, *words, tools=True):
        shaped = apart if look.has(spoken, apart, *words, tools=True) else shaped
    several = (
        _ASK,
        Message("assistant", tool_calls=(_CALL, _OTHER)),
        _RESULT,
        _OTHER_RESULT,
    )
    words = ("wordcall", "wordother", "wordresult", "wordoutcome")
    apart = replace(shaped, many_calls=False)
    if not look.has(several, shaped, *words, tools=True):
        shaped = apart if look.has(several, apart, *words, tools=True) else shaped
    return shaped


def _with_thinking(look: _Look, traits: Traits) -> Traits:
    """Thinking before a call is shown by most templates that know thinking; some want it as a part
    of the content."""
    thought = Message("assistant", reasoning="wordthought", tool_calls=(_CALL,))
    history = (_ASK, thought, _RESULT)
    parts = replace(traits, thinking_parts=True)
    if look.has(history, traits, "wordthought", tools=True):
        return traits
    text = look.text(history, parts, tools=True)
    shown = all(word in text for word in ("wordthought", "wordcall", "wordresult"))
    return parts if shown and not any(mark in text for mark in _WRONG_PART) else traits


def _call_shape(look: _Look, traits: Traits) -> Traits | None:
    """How calls have to look for this template to show them; None where it never does."""
    history = (_ASK, Message("assistant", tool_calls=(_CALL,)), _RESULT)
    before = look.text((_ASK,), traits, tools=True)
    wrong = [mark for mark in _WRONG if mark not in before]
    nearly: Traits | None = None
    for short, content in product((False, True), _CONTENTS):
        for arguments in ("object", "text"):
            tried = replace(traits, short_ids=short, call_content=content, arguments=arguments)
            text = look.text(history, tried, tools=True)
            if not all(word in text for word in ("wordcall", "wordresult")):
                continue
            if "wordvalue" in text and not any(mark in text for mark in wrong):
                return tried
            nearly = nearly or tried
    return nearly
