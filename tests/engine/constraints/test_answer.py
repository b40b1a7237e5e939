"""Whole answers, written at random within their grammar, and read as any answer is."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.odd_tokens import SHOWN, OddTokens, allowed, plain, wander

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.constraints.calls import writable
from hubserve_engine.constraints.constraints import Constraints
from hubserve_engine.constraints.digits import MOST
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.profiles import PLAIN, Profile, choose
from hubserve_engine.tool_formats import FORMATS
from hubserve_engine.tool_formats.layout import Layout
from hubserve_engine.types import Chat, Constraint, Message, Rendered, Request, ToolUse

MODEL = OddTokens()
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}
THINK = choose("<think></think>", ())
HARMONY = choose("<|channel|>analysis<|message|>", ())
COHERE = choose("<|END_THINKING|>", ())
RECIPIENTS = choose("'>>>all\\n'", ())
CHAT = Chat((Message("user", "hi"),))
_KNOWN: dict[str, Constraints] = {}
ROOM = 10**6
"""More than any of these answers takes."""


def constraints(profile: Profile, format: str = "hermes") -> Constraints:
    key = f"{profile.name} {format}"
    if key not in _KNOWN:
        _KNOWN[key] = Constraints(MODEL.backend, profile, FORMATS[format], SHOWN)
    return _KNOWN[key]


def guide(
    constraint: Constraint,
    profile: Profile = PLAIN,
    *,
    text: str = "",
    thinking_open: bool = False,
    may_think: bool = True,
    room: int = ROOM,
) -> GrammarGuide:
    (found,) = constraints(profile).guides(
        Request(CHAT, constraint=constraint),
        Rendered(text, thinking_open),
        may_think=may_think,
        room=room,
    )
    return found


def split(written: list[int], profile: Profile, thinking_open: bool) -> tuple[str, str]:
    """Thinking and content, as a client gets them."""
    splitter = ChannelSplitter(
        profile.thinking_tags, thinking_open=thinking_open, marks=profile.marks
    )
    text = MODEL.text(written).decode("utf-8", "replace")
    segments = [*splitter.feed(text), *splitter.finish()]
    joined = {"reasoning": "", "content": ""}
    for channel, part in segments:
        joined[channel] += part
    return joined["reasoning"], joined["content"]


def takes(guide: GrammarGuide, text: str) -> bool:
    """Whether a text, in any tokens, is a whole answer."""
    for token in MODEL.tokenize(text, add_special=False, parse_special=True):
        guide.accept(token)
        if guide.error is not None:
            return False
    return MODEL.end_tokens <= set(allowed(guide))


@pytest.mark.parametrize(
    ("kind", "value", "right", "wrong"),
    [
        ("json_object", None, '{"a": [1, null]}', "[1]"),
        ("json_schema", SCHEMA, '{"name": "né", "ok": true}', '{"name": 1, "ok": true}'),
        ("json_schema", True, "[1, 2]", "[1, 2"),
        ("regex", r"[a-c]+/\d{2}\n?", "abc/12\n", "abc12"),
        ("choice", ("yes", 'no, not "that"', "東京"), 'no, not "that"', "no"),
        ("choice", ("a", "a", "ab"), "ab", "b"),
        ("gbnf", 'root ::= item+\nitem ::= [a-z]+ ("," | "!")', "ab,c!", "ab"),
        ("lark", 'start: "a" B\nB: /b{2}/', "abb", "ab"),
    ],
)
def test_each_kind_lets_come_what_it_says(kind: Any, value: Any, right: str, wrong: str) -> None:
    assert takes(guide(Constraint(kind, value)), right)
    assert not takes(guide(Constraint(kind, value)), wrong)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("json_schema", {"type": "string", "pattern": "(?=a)b"}, "'pattern' at '#'"),
        ("json_schema", {"items": {"format": "shoe-size"}}, "'format' at '#/items'"),
        ("json_schema", {"type": "colour"}, "colour"),
        ("json_schema", {"$ref": "#/$defs/nothing"}, "does not exist"),
        ("json_schema", {"$ref": "#"}, "makes no grammar"),
        ("json_schema", {"minimum": 3, "maximum": 2, "type": "integer"}, "minimum"),
        ("regex", "a(?=b)", "look-around"),
        ("regex", "[", "regex"),
        ("regex", "(" * 1000 + "a" + ")" * 1000, "too large"),
        ("regex", "", "empty"),
        ("regex", "a{1000000}", "repeated far too often"),
        ("lark", 'start: "a"{1000000}', "repeated far too often"),
        ("gbnf", 'root ::= "a', "GBNF"),
        ("gbnf", "root ::= colour", "no rule 'colour'"),
        ("gbnf", 'colour ::= "a"', "'root'"),
        ("gbnf", "root ::= [a\\", "GBNF"),
        ("gbnf", "\n".join(f"r{n} ::= r{n + 1}" for n in range(2000)), "rules"),
        ("lark", "start: nothing", "nothing"),
        ("lark", "x" * 10**6, "too large"),
        ("choice", ("x" * 10**6,), "at most"),
    ],
)
def test_what_makes_no_grammar_is_refused_with_the_reason(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        guide(Constraint(kind, value, "field"))
    assert said in refused.value.message
    assert refused.value.param == "field"


@pytest.mark.parametrize("profile", [PLAIN, THINK])
def test_what_would_fail_within_the_answer_is_refused_at_once(profile: Profile) -> None:
    members = {f"member{number}": {"type": "integer"} for number in range(900)}
    wide = {"type": "object", "properties": members}
    deep = {"type": "object", "properties": {"a": wide}, "required": ["a"]}
    options = [{"type": "object", "required": [f"m{number}"]} for number in range(2100)]
    many = {"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"anyOf": options}}}
    for schema, place in ((wide, "#"), (deep, "#/properties/a"), (many, "#/items")):
        with pytest.raises(InvalidRequest, match=f"more members or alternatives at '{place}'"):
            guide(Constraint("json_schema", schema, "field"), profile)
    with pytest.raises(InvalidRequest, match="leads to itself"):
        guide(Constraint("json_schema", {"$ref": "#"}, "field"), profile)
    rows = " | ".join(f'"x{number}" root' for number in range(3000))
    with pytest.raises(InvalidRequest, match="'field' makes no grammar"):
        guide(Constraint("gbnf", f'root ::= "a" ({rows})', "field"), profile)


def test_thousands_of_choices_are_held_to() -> None:
    choices = tuple(f"choice {number}" for number in range(4000))
    assert takes(guide(Constraint("choice", choices), THINK), "<think>Hm</think>choice 3999")
    assert takes(guide(Constraint("json_schema", {"enum": list(choices)})), '"choice 3999"')


LAYOUTS = [
    (PLAIN, "", False),
    (THINK, "", False),
    (THINK, "<think>\n", True),
    (HARMONY, "<|start|>assistant", False),
    (HARMONY, "<|start|>assistant<|channel|>final<|message|>", False),
    (COHERE, "", False),
    (COHERE, "<|START_THINKING|>", True),
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LAYOUTS), st.integers(0, 2**32))
def test_thinking_is_free_and_what_follows_is_held(
    layout: tuple[Profile, str, bool], seed: int
) -> None:
    """Wherever tokens end: the splitter's content is what the schema wants, and nothing else."""
    profile, text, thinking_open = layout
    held = guide(Constraint("json_schema", SCHEMA), profile, text=text, thinking_open=thinking_open)
    written, ended = wander(held, random.Random(seed), likes=plain)
    _, content = split(written, profile, thinking_open)
    if ended:
        Draft202012Validator(SCHEMA).validate(json.loads(content))
        assert not any(mark in content for mark in profile.marks)


@pytest.mark.parametrize("border", ["</think>", "</think>\n\n"])
def test_a_token_may_end_thinking_and_begin_the_answer(border: str) -> None:
    answer = '{"name": "a", "ok": true}'
    assert takes(
        guide(Constraint("json_schema", SCHEMA), THINK, thinking_open=True),
        f"I {{think}}{border}{answer}",
    )
    held = guide(Constraint("json_schema", SCHEMA), THINK, thinking_open=True)
    for token in MODEL.tokenize("so", add_special=False, parse_special=False):
        held.accept(token)
    (both,) = MODEL.tokenize("</think>\n\n{", add_special=False, parse_special=False)
    held.accept(both)
    assert held.error is None
    assert MODEL.text(held.forced()).startswith(b'"name')


@pytest.mark.parametrize("open", [True, False])
def test_an_answer_comes_at_last_however_often_a_model_thinks(open: bool) -> None:
    yes = Constraint("choice", ("yes",))
    for blocks, fits in ((1, True), (4, True), (5, False)):
        text = "<think>a</think>\n" * blocks
        held = guide(yes, THINK, thinking_open=open)
        assert takes(held, (text.removeprefix("<think>") if open else text) + "yes") == fits


def test_without_thinking_the_answer_comes_at_once() -> None:
    for held in (
        guide(Constraint("choice", ("yes", "no")), THINK, may_think=False),
        guide(Constraint("choice", ("yes", "no")), PLAIN),
    ):
        assert not takes(held, "<think>a</think>yes")
    assert takes(guide(Constraint("choice", ("yes", "no")), THINK), "<think>a</think>yes")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_forced_is_what_the_masks_allow_one_by_one(seed: int) -> None:
    constraint = Constraint("json_schema", SCHEMA)
    written, _ = wander(guide(constraint), random.Random(seed), likes=plain)
    held, again = guide(constraint), guide(constraint)
    for token in written:
        options = allowed(held)
        assert token in options
        forced = held.forced()
        if forced:
            assert options == forced[:1]
        assert held.fitting([token]) == 1
        held.accept(token)
        again.accept(token)
        assert held.mask() == again.mask()


def test_guesses_fit_as_far_as_they_may_come() -> None:
    held = guide(Constraint("choice", ("yes", "no")))
    tokens = MODEL.tokenize("yesno", add_special=False, parse_special=False)
    assert held.fitting(tokens) == 1
    assert not held.done
    assert held.fitting([]) == 0


def test_nothing_may_come_once_something_went_wrong() -> None:
    """llguidance would let the answer end there."""
    held = guide(Constraint("json_schema", SCHEMA))
    held.accept(ord("x"))
    assert held.error is not None and "\n" not in held.error
    assert allowed(held) == [] and held.forced() == [] and not held.done


@pytest.mark.parametrize(
    ("schema", "digits", "after"),
    [
        ({"type": "integer"}, "1" * MOST, b""),
        ({"type": "number"}, "-" + "12" * (MOST // 2), b".eE"),
        ({"type": "number"}, "0." + "0" * MOST, b"eE"),
        ({"type": ["number", "string"]}, "1e-" + "12" * (MOST // 2), b""),
        ({"items": {"type": "integer"}, "minItems": 2}, "[" + "1" * MOST, b","),
        ({"const": 10**MOST}, "1" + "0" * (MOST - 1), b"0"),
        ({"type": "string", "pattern": f"^[0-9]{{{2 * MOST}}}$"}, '"' + "1" * MOST, b"0123456789"),
        ({"type": "string", "pattern": "^[0-9]+$"}, '"' + "1" * MOST, b'0123456789"'),
    ],
)
def test_a_number_comes_to_an_end_and_digits_in_a_text_go_on(
    schema: dict[str, Any], digits: str, after: bytes
) -> None:
    held = guide(Constraint("json_schema", schema), THINK, text="<think>", thinking_open=True)
    for token in MODEL.tokenize(
        f"1{'0' * MOST}1</think>{digits}", add_special=False, parse_special=True
    ):
        assert token in allowed(held)
        held.accept(token)
    bytes_ = {token for token in allowed(held) if token < 256}
    assert bytes_ == set(after)


@pytest.mark.parametrize(("kind", "value"), [("regex", "[0-9]+"), ("gbnf", "root ::= [0-9]+")])
def test_a_grammar_of_the_clients_has_as_many_digits_as_it_says(kind: Any, value: str) -> None:
    held = guide(Constraint(kind, value))
    for _ in range(3 * MOST):
        assert ord("7") in allowed(held)
        held.accept(ord("7"))


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 6},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
                "unit": {"enum": ["c", "f"]},
                "tags": {
                    "type": "array",
                    "items": {"type": "string", "maxLength": 3},
                    "maxItems": 2,
                },
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
NOTHING = {"type": "function", "function": {"name": "nothing"}}


def calls_guide(
    use: ToolUse,
    profile: Profile,
    format: str,
    *,
    open: bool = False,
    mark: str = "",
    constraint: Constraint | None = None,
) -> GrammarGuide:
    chat = Chat((Message("user", "hi"),), tools=(WEATHER, NOTHING))
    request = Request(chat, tool_use=use, constraint=constraint)
    rendered = Rendered(mark, open, mark)
    (found,) = constraints(profile, format).guides(request, rendered, may_think=True, room=ROOM)
    return found


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("parallel", [True, False])
def test_a_call_that_is_required_comes_and_fits(format: str, parallel: bool) -> None:
    from hubserve_engine.output.offer import Offer
    from hubserve_engine.output.scanner import Call, Scanner

    use = ToolUse("required", parallel=parallel)
    ended = 0
    for seed in range(6):
        profile, open = (THINK, True) if seed % 2 else (PLAIN, False)
        written, whole = wander(
            calls_guide(use, profile, format, open=open), random.Random(seed), likes=plain
        )
        if not whole:
            continue
        ended += 1
        _, content = split(written, profile, open)
        scanner = Scanner(FORMATS[format], Offer((WEATHER, NOTHING), use))
        pieces = [*scanner.feed(content), *scanner.finish(stopped=True)]
        names, arguments = [], []
        for piece in pieces:
            assert isinstance(piece, Call), (content, piece)
            if piece.name is not None:
                names.append(piece.name)
                arguments.append("")
            arguments[-1] += piece.arguments
        assert names and (parallel or len(names) == 1)
        for name, each in zip(names, arguments, strict=True):
            if name == "weather":
                parameters = WEATHER["function"]["parameters"]  # type: ignore[index]
                Draft202012Validator(parameters).validate(json.loads(each))
            else:
                assert json.loads(each) == {}
    assert ended > 1


ANYTHING: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {}, "additionalProperties": True},
    {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"type": "integer"}}}}},
    {"type": "object", "required": ["x"]},
    {"type": "object", "properties": {f"p{n}": {} for n in range(900)}},
]


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("schema", ANYTHING, ids=lambda schema: str(schema)[:40])
def test_arguments_that_nothing_names_may_come(schema: dict[str, Any], format: str) -> None:
    """A call must not have to do without them, and other calls are held as ever."""
    tool = {"type": "function", "function": {"name": "odd", "parameters": schema}}
    chat = Chat((Message("user", "hi"),), tools=(tool, WEATHER))

    def held(use: ToolUse, calls: list[tuple[str, dict[str, Any]]], layout: Layout) -> bool:
        row = layout.written([("a1b2c3d4e", *call) for call in calls]).rstrip()
        texts = [row.removesuffix(end) for end in ("", "<|call|>", "<|eom|>")]
        for text in texts:
            request = Request(chat, tool_use=use)
            (found,) = constraints(PLAIN, format).guides(
                request, Rendered("", False), may_think=True, room=ROOM
            )
            if takes(found, text):
                return True
        return False

    strict, own = ToolUse(strict=True), FORMATS[format].layouts[0]
    odd, weather = ("odd", {"x": 1}), ("weather", {"city": "x", "days": 2})
    assert held(strict, [odd], own) and held(strict, [weather, odd], own)
    assert held(strict, [weather], own) and held(strict, [odd, weather], own)
    assert not held(strict, [("weather", {"city": "x", "days": "two"})], own)
    layouts = (own, FORMATS["generic"].layouts[0])
    assert any(held(ToolUse("required"), [odd, weather], layout) for layout in layouts)


@pytest.mark.parametrize("format", ["qwen-xml", "lfm2", "gemma", "minimax-m3"])
def test_thousands_of_values_are_told_apart(format: str) -> None:
    listed = {"enum": [f"value {number}" for number in range(4000)]}
    schema = {"type": "object", "properties": {"a": listed}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "odd", "parameters": schema}}
    request = Request(Chat((Message("user", "hi"),), tools=(tool,)), tool_use=ToolUse("required"))
    for value, fits in (("value 3999", True), ("value 39990", False)):
        (found,) = constraints(PLAIN, format).guides(
            request, Rendered("", False), may_think=True, room=ROOM
        )
        text = FORMATS[format].layouts[0].written([("", "odd", {"a": value})])
        assert takes(found, text) == fits


REFERRING = {
    "type": "object",
    "properties": {"many": {"$ref": "#/$defs/many"}, "loop": {"$ref": "#/$defs/one"}},
    "required": ["many", "loop"],
    "$defs": {
        "many": {"type": "integer"},
        "one": {"$ref": "#/$defs/other"},
        "other": {"$ref": "#/$defs/one"},
    },
}


@pytest.mark.parametrize("format", ["kimi-k3", "qwen-xml"])
def test_arguments_between_tags_are_of_the_type_that_a_reference_leads_to(format: str) -> None:
    """One that leads nowhere, as a circle does, says nothing."""
    tool = {"type": "function", "function": {"name": "odd", "parameters": REFERRING}}
    request = Request(
        Chat((Message("user", "hi"),), tools=(tool,)), tool_use=ToolUse("required", parallel=False)
    )
    for many, fits in ((3, True), ("three", False)):
        written = FORMATS[format].layouts[0].written([("", "odd", {"many": many, "loop": "x"})])
        (held,) = constraints(PLAIN, format).guides(
            request, Rendered("", False), may_think=True, room=ROOM
        )
        assert takes(held, written) == fits


RIGHT = '{"city": "x", "days": 2}'
WRONG = '{"city": "x", "days": "two"}'


def test_a_call_whose_mark_the_prompt_has_written_is_held_from_its_name_on() -> None:
    def held(text: str, use: ToolUse, constraint: Constraint | None = None) -> bool:
        guide = calls_guide(
            use, RECIPIENTS, "functionary-recipients", mark=">>>", constraint=constraint
        )
        return takes(guide, text)

    for use in (ToolUse("required"), ToolUse(strict=True)):
        assert held(f"weather\n{RIGHT}", use)
        assert held(f"weather\n{RIGHT}>>>nothing\n{{}}", use)
        assert not held(f"weather\n{WRONG}", use)
        assert not held(f"weather\n{RIGHT}>>>weather\n{WRONG}", use)
    assert not held("all\nHi.", ToolUse("required"))
    strict = ToolUse(strict=True)
    assert held("all\nThe weather\n{is} >>> 1 + 1", strict)
    assert held(f"all\nI look.>>>weather\n{RIGHT}", strict)
    assert not held(f"all\nI look.>>>weather\n{WRONG}", strict)
    said = Constraint("choice", ("yes", "no"))
    assert held("all\nyes", ToolUse(), said) and not held("yes", ToolUse(), said)
    assert held(f"weather\n{RIGHT}", ToolUse(), said)
    assert not held(f"weather\n{WRONG}", ToolUse(), said)


@pytest.mark.parametrize(
    "begun",
    [
        "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>",
        " to=functions.weather<|channel|>commentary <|constrain|>json<|message|>",
    ],
)
def test_calls_in_channels_come_in_no_channel_of_their_own(begun: str) -> None:
    """A call that is forced must not come after the mark of an answer in words."""
    thought = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"
    said = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
    right, wrong = (f"{begun}{each}<|call|>" for each in (RIGHT, WRONG))
    strict = ToolUse(strict=True)
    for before in ("", thought, said, thought + said):
        assert takes(calls_guide(strict, HARMONY, "harmony"), before + right)
        assert not takes(calls_guide(strict, HARMONY, "harmony"), before + wrong)
    assert takes(calls_guide(strict, HARMONY, "harmony"), "<|channel|>final<|message|>Hi.")
    if not begun.startswith(" "):
        required = ToolUse("required")
        for before in ("", thought):
            assert takes(calls_guide(required, HARMONY, "harmony"), before + right)
            final = f"{before}<|channel|>final<|message|>"
            assert not takes(calls_guide(required, HARMONY, "harmony"), final + right)


def test_a_named_function_is_called_once() -> None:
    use = ToolUse("required", allowed=("nothing",))
    written, whole = wander(calls_guide(use, PLAIN, "hermes"), random.Random(1), likes=plain)
    assert whole
    assert MODEL.text(written).decode() == (
        '<tool_call>\n{"name": "nothing", "arguments": {}}\n</tool_call>'
    )


def test_strict_calls_are_held_from_where_they_begin() -> None:
    use = ToolUse("auto", strict=True)
    assert takes(calls_guide(use, PLAIN, "hermes"), "Just words, and {json: 1}.")
    right = '<tool_call>\n{"name": "weather", "arguments": {"city": "x", "days": 2}}\n</tool_call>'
    assert takes(calls_guide(use, PLAIN, "hermes"), f"I look. {right}")
    assert takes(calls_guide(use, PLAIN, "hermes"), f"{right}\n{right}")
    assert takes(calls_guide(use, THINK, "hermes", open=True), f"Hm <tool_call> </think>\n{right}")
    for wrong in (right.replace("weather", "whether"), right.replace("2", '"two"')):
        assert not takes(calls_guide(use, PLAIN, "hermes"), f"I look. {wrong}")
    alone = ToolUse("auto", strict=True, parallel=False)
    assert not takes(calls_guide(alone, PLAIN, "hermes"), f"{right}\n{right}")


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_row_of_calls_is_held_in_the_format_that_a_grammar_has_for_it(format: str) -> None:
    use = ToolUse("auto", strict=True)
    layout = writable(FORMATS[format])
    arguments = {"city": "x", "days": 2}
    ids = ("a1b2c3d4e", "f5g6h7i8j")
    row = layout.written([(id, "weather", arguments) for id in ids]).rstrip()
    texts = [row.removesuffix(end) for end in ("", "<|call|>", "<|eom|>")]
    assert any(takes(calls_guide(use, PLAIN, format), f"I look. {text}") for text in texts)
    required = ToolUse("required")
    assert any(takes(calls_guide(required, PLAIN, format), text) for text in texts)
    for wrong in ({"city": "x"}, {**arguments, "days": "two"}, {**arguments, "more": 1}):
        one = layout.written([(ids[0], "weather", wrong)])
        assert not takes(calls_guide(use, PLAIN, format), f"I look. {one}")
    assert takes(calls_guide(use, PLAIN, format), "Just words, and {json: 1}.")


def test_with_tools_an_answer_is_held_or_a_call() -> None:
    request = Request(
        Chat((Message("user", "hi"),), tools=(NOTHING,)), constraint=Constraint("choice", ("yes",))
    )
    call = '<tool_call>\n{"name": "nothing", "arguments": {}}\n</tool_call>'
    for text, fits in (("yes", True), (call, True), ("no", False)):
        (held,) = constraints(PLAIN).guides(request, Rendered("", False), may_think=True, room=ROOM)
        assert takes(held, text) == fits


def test_a_tool_does_without_the_keyword_that_cannot_be_held_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "(?=x)y"},
            "b": {"not": {"type": "string"}, "type": "integer"},
        },
        "required": ["a", "b"],
    }
    tool = {"type": "function", "function": {"name": "odd", "parameters": parameters}}
    request = Request(Chat((Message("user", "hi"),), tools=(tool,)), tool_use=ToolUse("required"))
    for _ in range(2):
        (held,) = constraints(PLAIN).guides(request, Rendered("", False), may_think=True, room=ROOM)
    assert takes(
        held, '<tool_call>\n{"name": "odd", "arguments": {"a": "q", "b": 1}}\n</tool_call>'
    )
    (said,) = caplog.messages
    assert "'pattern' at '#/properties/a'" in said and "'not' at '#/properties/b'" in said


ODD_TOOLS: dict[str, dict[str, Any]] = {
    "optional enum": {
        "properties": {"v": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": None}},
        "required": ["v"],
    },
    "referred enum": {
        "properties": {"v": {"allOf": [{"$ref": "#/$defs/E"}], "description": "one"}},
        "required": ["v"],
        "$defs": {"E": {"type": "string", "enum": ["a", "b"]}},
    },
    "mixed": {
        "properties": {"v": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]}},
        "required": ["v"],
    },
    "pattern": {
        "properties": {"v": {"type": "string", "pattern": "^[a-z]{2}-\\d$"}},
        "required": ["v"],
    },
    "root": {"$ref": "#/$defs/R", "$defs": {"R": {"properties": {"n": {"type": "integer"}}}}},
    "root choice": {
        "anyOf": [{"properties": {n: {"type": "integer"}}, "required": [n]} for n in ("a", "b")]
    },
    "loop": {
        "properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}},
        "required": ["a"],
    },
    "wide loop": {
        "properties": {"a": {"$ref": "#/$defs/N"}},
        "required": ["a"],
        "$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}, {"$ref": "#/$defs/N"}, {"type": "null"}]}},
    },
    "odd key": {"properties": {'q"<': {"type": "integer"}}, "required": ['q"<']},
    "unknown type": {"properties": {"v": {"type": "str"}}, "required": ["v"]},
}


@pytest.mark.parametrize("format", ["hermes", "qwen-xml", "deepseek-dsml"])
@pytest.mark.parametrize("name", ODD_TOOLS)
def test_whatever_schema_a_tool_has_its_call_comes_and_fits(name: str, format: str) -> None:
    from hubserve_engine.output.offer import Offer
    from hubserve_engine.output.scanner import Call, Scanner

    schema = {"type": "object", "additionalProperties": False, **ODD_TOOLS[name]}
    if name.startswith("root"):
        del schema["additionalProperties"]
    tool = {"type": "function", "function": {"name": "odd", "parameters": schema}}
    chat = Chat((Message("user", "hi"),), tools=(tool,))
    held = constraints(PLAIN, format)
    for use in (ToolUse(strict=True), ToolUse("required", parallel=False)):
        (found,) = held.guides(
            Request(chat, tool_use=use),
            Rendered("", thinking_open=False),
            may_think=True,
            room=ROOM,
        )
    if "loop" in name:
        return  # there is nothing that it could be
    written, whole = wander(found, random.Random(2), likes=plain, most=2000)
    if not whole:
        return
    scanner = Scanner(FORMATS[format], Offer((tool,), use))
    text = MODEL.text(written).decode("utf-8", "replace")
    pieces = [*scanner.feed(text), *scanner.finish(stopped=True)]
    arguments = "".join(piece.arguments for piece in pieces if isinstance(piece, Call))
    if name != "unknown type":
        Draft202012Validator(schema).validate(json.loads(arguments))


@pytest.mark.parametrize(
    ("odd", "right", "wrong"),
    [
        ({"type": "number", "minimum": -1.7e308, "maximum": 1.7e308}, "1.5", '"x"'),
        ({"type": "integer", "minimum": 5, "maximum": 1}, "7", '"x"'),
        ({"type": "str", "maxLength": 2}, '"ab"', '"abc"'),
        (
            {"type": "object", "properties": {"b": {"type": "str"}}, "required": ["b"]},
            '{"b": 1}',
            "2",
        ),
        ({"$ref": "#/$defs/nothing"}, "1", None),
        ({"$ref": "#/properties/a"}, "1", None),
        ({"enum": []}, "1", None),
    ],
)
def test_what_is_odd_in_a_tools_schema_leaves_the_rest_in_force(
    odd: dict[str, Any], right: str, wrong: str | None
) -> None:
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {"a": odd, "n": {"type": "integer"}},
    }
    parameters |= {"required": ["a", "n"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "odd", "parameters": parameters}}
    request = Request(Chat((Message("user", "hi"),), tools=(tool,)), tool_use=ToolUse("required"))

    def fits(a: str, n: str) -> bool:
        (held,) = constraints(PLAIN).guides(request, Rendered("", False), may_think=True, room=ROOM)
        arguments = f'{{"a": {a}, "n": {n}}}'
        written = f'<tool_call>\n{{"name": "odd", "arguments": {arguments}}}\n</tool_call>'
        return takes(held, written)

    assert fits(right, "1")
    assert not fits(right, '"one"')
    assert wrong is None or not fits(wrong, "1")
