"""Items that are made ahead are the same, and so are errors."""

import threading
from collections.abc import Iterator

import pytest

from hubserve_exporters.ahead import ahead


def test_the_items_are_the_same_in_their_order() -> None:
    assert list(ahead(iter(range(50)))) == list(range(50))
    assert list(ahead(iter([]))) == []


def test_one_is_made_while_the_one_before_is_used() -> None:
    made = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        made.set()
        yield 2

    for item in ahead(items()):
        assert item == 2 or made.wait(60)


def test_an_error_comes_where_its_item_would() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("two is wrong")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="two is wrong"):
        next(found)


def test_a_caller_may_stop_early() -> None:
    before = threading.active_count()
    found = ahead(iter(range(50)))
    next(found)
    found.close()
    assert threading.active_count() == before
