"""Work that is done while the work before it is used."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def ahead(items: Iterator[_T]) -> Generator[_T, None, None]:
    """The same items; each is made in a thread while the caller has the one before it.

    What the making of one raises is raised where it would be given. A caller that stops early has
    to close this, or let go of it.
    """
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
