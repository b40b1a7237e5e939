"""A radix tree over token ids: who holds what beginning, and how much of it a prompt shares.

An edge is a run of tokens, split where two holders part, so that a common prefix of any length is
found in one walk, whether or not anybody ends there.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int32]
"""Shape (n,)."""
H = TypeVar("H")


class RadixTree(Generic[H]):
    """Holders, each at the end of its tokens. A holder is in it once at most, by its hash."""

    def __init__(self) -> None:
        self._root: _Node[H] = _Node(_NONE, None)
        self._places: dict[H, _Node[H]] = {}

    def __iter__(self) -> Iterator[H]:
        return iter(self._places)

    def __contains__(self, holder: H) -> bool:
        return holder in self._places

    def insert(self, tokens: Tokens, holder: H) -> None:
        """Put a holder at the end of `tokens`, shape (n,)."""
        assert holder not in self._places, "it is in the tree already"
        node, depth = self._root, 0
        while depth < len(tokens):
            child = node.children.get(int(tokens[depth]))
            if child is None:
                child = _Node(tokens[depth:], node)
                node.children[int(tokens[depth])] = child
                node = child
                break
            shared = common_length(child.edge, tokens[depth:])
            node = child if shared == len(child.edge) else child.split(shared)
            depth += shared
        node.holders[holder] = None
        self._places[holder] = node

    def remove(self, holder: H) -> None:
        """Take a holder out, and what nobody needs any more of the tree."""
        node: _Node[H] | None = self._places.pop(holder)
        assert node is not None
        del node.holders[holder]
        while node is not None and node.parent is not None and not node.holders:
            if len(node.children) > 1:
                return
            parent = node.parent
            first = int(node.edge[0])
            if node.children:
                (child,) = node.children.values()
                child.edge = np.concatenate([node.edge, child.edge])
                child.parent = parent
                parent.children[first] = child
                return
            del parent.children[first]
            node = parent

    def matches(self, tokens: Tokens) -> Iterator[tuple[H, int]]:
        """Every holder that shares a beginning with `tokens`, and its length; the longest first."""
        node, depth = self._root, 0
        path: list[tuple[_Node[H], int]] = []
        passed: _Node[H] | None = None
        while depth < len(tokens):
            child = node.children.get(int(tokens[depth]))
            if child is None:
                break
            shared = common_length(child.edge, tokens[depth:])
            depth += shared
            path.append((child, depth))
            if shared < len(child.edge):
                break
            node = child
        for node, depth in reversed(path):
            yield from ((holder, depth) for holder in node.everyone(but=passed))
            passed = node

    def span(self, holders: Iterable[H]) -> int:
        """How many different beginnings these holders have: tokens, those they share once."""
        seen: set[int] = set()
        total = 0
        for holder in holders:
            node: _Node[H] | None = self._places[holder]
            while node is not None and id(node) not in seen:
                seen.add(id(node))
                total += len(node.edge)
                node = node.parent
        return total


class _Node(Generic[H]):
    """The end of an edge. `children` are found by the first token of their edges."""

    __slots__ = ("children", "edge", "holders", "parent")

    def __init__(self, edge: Tokens, parent: "_Node[H] | None") -> None:
        self.edge = edge
        self.parent = parent
        self.children: dict[int, _Node[H]] = {}
        self.holders: dict[H, None] = {}

    def split(self, length: int) -> "_Node[H]":
        """A node after the first `length` tokens of this one's edge, above it."""
        assert self.parent is not None
        upper = _Node(self.edge[:length], self.parent)
        self.parent.children[int(self.edge[0])] = upper
        upper.children[int(self.edge[length])] = self
        self.edge = self.edge[length:]
        self.parent = upper
        return upper

    def everyone(self, *, but: "_Node[H] | None" = None) -> Iterator[H]:
        """The holders here and below, except for one branch."""
        nodes = [self]
        while nodes:
            node = nodes.pop()
            yield from node.holders
            nodes.extend(child for child in node.children.values() if child is not but)


def common_length(a: Tokens, b: Tokens) -> int:
    """The length of the common beginning."""
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n


_NONE = np.zeros(0, np.int32)
