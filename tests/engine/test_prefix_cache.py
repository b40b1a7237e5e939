from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.prefix_cache import Found, PrefixCache

tokens = st.lists(st.integers(0, 2), max_size=8)


def kept(*prefixes: list[int], slots: int | None = None, truncate: bool = True) -> PrefixCache:
    """Slots 0, 1, ... hold the prefixes, oldest first; further ones are empty."""
    cache = PrefixCache(range(slots or len(prefixes)), truncate=truncate)
    while cache.take_any() is not None:
        pass
    for slot, prefix in enumerate(prefixes):
        cache.keep(slot, prefix)
    for slot in range(len(prefixes), slots or 0):
        cache.free(slot)
    return cache


def test_the_longest_common_prefix_wins() -> None:
    cache = kept([1, 2], [1, 2, 3, 4], [1, 2, 3])
    assert cache.take_best([1, 2, 3, 4, 5], 5) == Found(1, 4)


def test_no_more_than_the_limit_is_taken() -> None:
    assert kept([1, 2, 3]).take_best([1, 2, 3], 2) == Found(0, 2)


def test_a_state_that_cannot_be_cut_serves_only_whole() -> None:
    assert kept([1, 2, 3], truncate=False).take_best([1, 2, 3, 4], 4) == Found(0, 3)
    assert kept([1, 2, 3], truncate=False).take_best([1, 2, 9, 4], 4) == Found(0, 0)
    assert kept([1, 2, 3], truncate=False).take_best([1, 2, 3], 2) == Found(0, 0)


def test_a_prefix_of_which_a_part_is_wanted_stays_while_a_slot_is_empty() -> None:
    cache = kept([1, 2, 3], slots=2)
    assert cache.take_best([1, 2, 9], 3) == Found(1, 2, source=0)
    assert cache.take_best([1, 2, 3, 4], 4) == Found(0, 3)


def test_a_stranger_does_not_cut_a_conversation() -> None:
    cache = kept([1, 2, 3, 4, 5], [7], [8])
    assert cache.take_best([1, 2, 9], 3) == Found(1, 2, source=0)
    assert cache.take_best([1, 6], 2) == Found(2, 1, source=0)
    assert cache.take_best([1, 2, 3, 4, 5, 6], 6) == Found(0, 5)


def test_the_next_turn_takes_the_place_of_its_conversation() -> None:
    cache = kept([1, 2, 3, 4], [7])
    assert cache.take_best([1, 2, 9], 3) == Found(0, 2)


def test_the_only_one_is_cut_even_by_a_stranger() -> None:
    assert kept([1, 2, 3, 4, 5]).take_best([1, 9], 2) == Found(0, 1)


def test_the_same_prompt_again_takes_its_own_place() -> None:
    """With an answer of any length behind it."""
    cache = kept([9], [1, 2, 3, 4, 5, 6, 7, 8, 9], slots=3)
    assert cache.take_best([1, 2, 3], 2) == Found(1, 2)


def test_a_prefix_that_is_wanted_whole_is_not_copied() -> None:
    assert kept([1, 2], slots=2).take_best([1, 2, 3], 3) == Found(0, 2)


def test_an_empty_slot_goes_before_a_kept_one() -> None:
    cache = kept([1], [2], slots=3)
    assert cache.take_best([9], 1) == Found(2, 0)
    assert cache.take_best([9], 1) == Found(0, 0)
    assert cache.take_any() == 1
    assert cache.take_any() is None
    assert cache.take_best([1], 1) is None


def test_what_was_used_last_is_given_up_last() -> None:
    cache = kept([1, 2], [2], slots=3)
    found = cache.take_best([1, 9], 2)
    assert found == Found(2, 1, source=0)
    assert [cache.evict(), cache.evict(), cache.evict()] == [1, 0, None]


def test_an_evicted_slot_is_empty() -> None:
    cache = kept([1], [2])
    assert cache.evict() == 0
    assert cache.take_best([1], 1) == Found(0, 0)


@given(st.lists(tokens, max_size=5), st.integers(0, 2), tokens, st.data(), st.booleans())
def test_what_is_found_is_the_beginning_of_what_was_kept(
    prefixes: list[list[int]], empty: int, wanted: list[int], data: st.DataObject, truncate: bool
) -> None:
    limit = data.draw(st.integers(0, len(wanted)))
    slots = len(prefixes) + empty
    cache = kept(*prefixes, slots=slots, truncate=truncate)
    found = cache.take_best(wanted, limit)
    if found is None:
        assert not slots
        return
    holder = found.slot if found.source is None else found.source
    assert found.length <= limit
    if found.length:
        assert prefixes[holder][: found.length] == wanted[: found.length]
        assert truncate or found.length == len(prefixes[holder])
    usable = [p for p in prefixes if truncate or wanted[:limit][: len(p)] == p]
    assert not any(
        p[: found.length + 1] == wanted[:limit][: found.length + 1]
        for p in usable
        if len(p) > found.length and limit > found.length
    )
    # Every other slot is still there, once.
    rest = [cache.take_any() for _ in range(slots - 1)]
    assert sorted([found.slot, *(slot for slot in rest if slot is not None)]) == list(range(slots))
    assert cache.take_any() is None
