"""Grammars as llama.cpp's users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.constraints.test_answer import guide, takes

from hubserve_engine.constraints.gbnf import lark
from hubserve_engine.types import Constraint


def holds(grammar: str, text: str) -> bool:
    return takes(guide(Constraint("gbnf", grammar)), text)


@pytest.mark.parametrize(
    ("grammar", "right", "wrong"),
    [
        ('root ::= Foo foo\nFoo ::= "A"\nfoo ::= "b"', "Ab", "AA"),
        ('root ::= a-b a_b\na-b ::= "1"\na_b ::= "2"', "12", "11"),
        ('root ::= start | "x" ws\nstart ::= "go"\nws ::= [ \\t\\n]*', "go", "start"),
        (r'root ::= "\u00e9\x41\[\"\\\U0001F600"', 'éA["\\😀', 'éA["\\'),
        (r"root ::= [\u00e0-\u00ff\u005d]+", "é]à", "e"),
        (r"root ::= [^\x00-\x1f\]]{2,3}", "ab", "a]"),
        ('root ::= "[" | "no # remark" # "a remark" [', "no # remark", '"a remark"'),
        (
            'root ::= item ("," item)*\nitem ::= "a" | item-2 # the second\nitem-2 ::= "b"',
            "a,b",
            "a,",
        ),
        ('root ::= "\\n"+', "\n\n", "n"),
    ],
)
def test_what_is_written_is_what_comes(grammar: str, right: str, wrong: str) -> None:
    assert holds(grammar, right)
    assert not holds(grammar, wrong)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ('root ::= "a" b-c', "no rule 'b-c'"),
        ('a ::= "b"', "no rule 'root'"),
        (r'root ::= "\ud800"', "no character"),
    ],
)
def test_what_cannot_be_meant_is_named(grammar: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lark(grammar)


def test_lark_is_left_alone() -> None:
    text = 'start: "a ::= b"'
    assert lark(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8))
def test_any_text_can_be_said(text: str) -> None:
    escaped = "".join(f"\\U{ord(character):08x}" for character in text)
    assert holds(f'root ::= "{escaped}" | [x]', text)
