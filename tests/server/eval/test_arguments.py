"""Which requests are asked."""

import pytest
import typer

from hubserve_server.eval.arguments import chosen
from hubserve_server.eval.cases import load


def test_those_with_one_of_the_texts_in_their_title() -> None:
    cases = load()
    assert chosen(cases, []) is cases
    some = chosen(cases, ["calls", "poem"])
    titles = [case.title for case in some.calls], [case.title for case in some.texts]
    assert titles == (["three calls, two of one tool", "two calls of two tools"], ["a poem"])


def test_a_text_that_is_in_no_title() -> None:
    with pytest.raises(typer.BadParameter, match="'bogus' is in no request's title; there are: o"):
        chosen(load(), ["none", "bogus"])
