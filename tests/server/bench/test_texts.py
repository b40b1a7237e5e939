"""What is asked is new in each run, and the same for both servers."""

import ast

from hubserve_server.bench.texts import Texts


def test_a_seed_makes_the_same_texts_again() -> None:
    first, again, other = Texts("a"), Texts("a"), Texts("b")
    for make in (Texts.question, lambda t: t.reading(500), lambda t: t.functions(25)):
        made = make(first)
        assert made == make(again)
        # No prefix that is worth keeping is common to two runs.
        assert made[:200] != make(other)[:200]


def test_a_story_has_the_length_that_was_asked_for() -> None:
    assert 1000 <= len(Texts("a").story(1000).split()) < 1030


def test_the_functions_are_python_and_all_different() -> None:
    tree = ast.parse(Texts("a").functions(25))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(set(names)) == len(tree.body) == 25
