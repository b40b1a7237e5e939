from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hubserve_engine.radix_tree import RadixTree, Tokens, common_length

texts = st.lists(st.integers(0, 2), max_size=10)


def array(tokens: Iterable[int]) -> Tokens:
    return np.array(list(tokens), np.int32)


def tree(*texts: str) -> RadixTree[str]:
    """Each text is a holder of its own characters."""
    found: RadixTree[str] = RadixTree()
    for text in texts:
        found.insert(array(text.encode()), text)
    return found


def matches(found: RadixTree[str], text: str) -> list[tuple[str, int]]:
    return list(found.matches(array(text.encode())))


def test_the_longest_common_beginning_comes_first() -> None:
    found = tree("abc", "abcdef", "abx", "z")
    assert matches(found, "abcdeq") == [("abcdef", 5), ("abc", 3), ("abx", 2)]


def test_an_edge_is_shared_in_part() -> None:
    assert matches(tree("abcdef"), "abq") == [("abcdef", 2)]


def test_who_holds_more_than_is_asked_for_shares_all_of_it() -> None:
    assert matches(tree("abc", "abcdef"), "ab") == [("abc", 2), ("abcdef", 2)]


def test_nothing_in_common_is_no_match() -> None:
    assert matches(tree("abc"), "xabc") == []
    assert matches(tree("abc"), "") == []
    assert matches(tree(), "abc") == []
    assert matches(tree(""), "abc") == []


def test_several_may_hold_the_same() -> None:
    found: RadixTree[int] = RadixTree()
    for holder in (1, 2):
        found.insert(array([7, 8]), holder)
    assert sorted(found.matches(array([7, 8, 9]))) == [(1, 2), (2, 2)]
    found.remove(1)
    assert list(found.matches(array([7, 8, 9]))) == [(2, 2)]


def test_what_is_shared_counts_once() -> None:
    found = tree("abcde", "abcxy", "abc", "q")
    assert found.span(["abcde", "abcxy"]) == 7
    assert found.span(["abcde", "abc", "q"]) == 6
    assert found.span([]) == 0


@given(texts, texts)
def test_common_length(a: list[int], b: list[int]) -> None:
    n = common_length(array(a), array(b))
    assert a[:n] == b[:n]
    assert n == min(len(a), len(b)) or a[n] != b[n]


class Trees(RuleBasedStateMachine):
    """Against a plain table of who holds what."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: RadixTree[int] = RadixTree()
        self.table: dict[int, list[int]] = {}
        self.names = 0

    @rule(tokens=texts)
    def insert(self, tokens: list[int]) -> None:
        self.names += 1
        self.tree.insert(array(tokens), self.names)
        self.table[self.names] = tokens

    @precondition(lambda self: self.table)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.table)))
        self.tree.remove(name)
        del self.table[name]
        assert name not in self.tree

    @rule(tokens=texts)
    def match(self, tokens: list[int]) -> None:
        found = list(self.tree.matches(array(tokens)))
        expected = {
            name: common_length(array(held), array(tokens)) for name, held in self.table.items()
        }
        assert dict(found) == {name: n for name, n in expected.items() if n}
        assert len(found) == len(dict(found))
        lengths = [n for _, n in found]
        assert lengths == sorted(lengths, reverse=True)

    @invariant()
    def it_knows_everyone_and_counts_each_beginning_once(self) -> None:
        assert set(self.tree) == set(self.table)
        assert set(self.tree) == set(self.table)
        beginnings = {tuple(t[: i + 1]) for t in self.table.values() for i in range(len(t))}
        assert self.tree.span(self.table) == len(beginnings)


TestTrees = Trees.TestCase
TestTrees.settings = settings(max_examples=100, stateful_step_count=40)
