import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sequences import sequence

from hubserve_engine.prefix_cache import Found, Holding, PrefixCache
from hubserve_engine.radix_tree import Tokens, common_length
from hubserve_engine.sequence import Sequence
from hubserve_engine.types import CacheTier

ROOM = 1 << 20
tokens = st.lists(st.integers(0, 2), max_size=8)


def array(tokens: list[int]) -> Tokens:
    return np.array(tokens, np.int32)


def cache(slots: int = 4, *, truncate: bool = True, multiple: int = 1) -> PrefixCache:
    return PrefixCache(range(slots), truncate=truncate, multiple=multiple)


def run(
    cache: PrefixCache,
    tokens: list[int],
    *,
    read: int | None = None,
    source: Holding | None = None,
) -> Sequence:
    """A sequence in a slot of its own, of which so much is read."""
    each = sequence(tokens)
    taken = cache.take_slot()
    assert taken is not None
    cache.begin(each, taken[0], source)
    each.hold(len(tokens) if read is None else read)
    return each


def keep(cache: PrefixCache, tokens: list[int], *, marks: tuple[int, ...] = ()) -> Holding:
    each = run(cache, tokens)
    each.marks = marks
    assert cache.end(each, keep=True) is None
    (holding,) = [h for h in cache.holdings("kept") if h.tokens.tolist() == tokens]
    return holding


def saved(cache: PrefixCache, tokens: list[int], tier: CacheTier) -> Holding:
    holding = Holding(array(tokens), tier, cuttable=True, state=b"")
    cache.add(holding)
    return holding


def find(
    cache: PrefixCache, tokens: list[int], limit: int = ROOM, room: int = ROOM
) -> Found | None:
    return cache.find(array(tokens), limit, room)


def test_the_longest_common_prefix_is_found_whoever_has_it() -> None:
    house = cache()
    keep(house, [1, 2])
    long = keep(house, [1, 2, 3, 4])
    assert find(house, [1, 2, 3, 4, 5]) == Found(long, 4)
    file = saved(house, [1] * 80, "disk")
    assert find(house, [1] * 90) == Found(file, 80)
    assert find(house, [2]) is None


def test_no_more_than_the_limit_is_taken_and_it_is_cut_where_it_may_be() -> None:
    house = cache(multiple=4)
    holding = keep(house, list(range(11)))
    assert find(house, list(range(20)), 10) == Found(holding, 8)
    assert find(house, list(range(20)), 3) is None


def test_what_a_running_sequence_has_read_can_be_had_and_no_more() -> None:
    house = cache()
    each = run(house, [1, 2, 3, 4], read=2)
    found = find(house, [1, 2, 3, 9])
    assert found is not None
    assert (found.holding.sequence, found.length) == (each, 2)
    promise = house.promise(array([1, 2, 3, 9]), 4)
    assert promise is not None
    assert (promise.sequence, promise.length) == (each, 3)
    each.cached = 4
    assert house.promise(array([1, 2, 3, 9]), 4) is None


def test_a_state_that_cannot_be_cut_serves_whole_or_at_a_mark() -> None:
    house = cache(truncate=False)
    plain = keep(house, [1, 2, 3])
    assert find(house, [1, 2, 3, 4]) == Found(plain, 3)
    assert find(house, [1, 2, 9]) is None
    assert find(house, [1, 2, 3], 2) is None
    marked = keep(house, [7, 8, 9, 9, 9], marks=(2, 4))
    assert find(house, [7, 8, 9, 5]) == Found(marked, 2)
    assert find(house, [7, 8, 9, 9, 5]) == Found(marked, 4)
    assert find(house, [7, 5]) is None


def test_what_is_nearer_goes_before_what_is_a_little_longer() -> None:
    house = cache()
    prompt = list(range(100))
    kept = keep(house, prompt[:90])
    saved(house, prompt, "disk")
    memory = saved(house, prompt, "host")
    assert find(house, prompt) == Found(kept, 90)
    house.drop(kept)
    assert find(house, prompt) == Found(memory, 100)


def test_a_copy_is_fetched_only_for_a_good_part_of_it_and_where_it_fits() -> None:
    house = cache()
    file = saved(house, [1] * 5000, "disk")
    assert find(house, [1] * 70 + [2] * 100) is None
    assert find(house, [1] * 200 + [2] * 100) == Found(file, 200)
    assert find(house, [1] * 200 + [2] * 100, room=4999) is None


def test_a_slot_that_lost_its_past_is_cut_back_no_further_than_that() -> None:
    house = cache()
    each = run(house, [1, 2, 3, 4, 5, 6])
    each.hold(6, "disk", marks=(2,), floor=4)
    house.end(each, keep=True)
    found = find(house, [1, 2, 3, 4, 5, 9])
    assert found is not None and found.length == 5
    found = find(house, [1, 2, 3, 9])
    assert found is not None and found.length == 2


def test_a_long_life_does_not_outweigh_what_is_used_now() -> None:
    house = cache()
    old = keep(house, [1] * 700)
    for _ in range(100):
        house.use(old)
    for _ in range(30):
        new = keep(house, [2] * 600)
        if house.least("kept") is old:
            return
        house.drop(new)
    raise AssertionError("it stays though nobody asks for it")


def test_an_empty_slot_is_taken_before_a_kept_one_and_then_the_one_worth_least() -> None:
    house = cache(3)
    long, short = keep(house, [1] * 50), keep(house, [2] * 5)
    assert house.has_empty
    taken = house.take_slot()
    assert taken is not None and taken[1] is None
    assert not house.has_empty
    assert house.take_slot() == (short.slot, short)
    assert house.take_slot() == (long.slot, long)
    assert house.take_slot() is None


def test_small_side_requests_do_not_throw_out_a_conversation() -> None:
    house = cache(4)
    talk = keep(house, [1] * 2000)
    for title in range(30):
        while not house.has_empty:
            least = house.least("kept")
            assert least is not None and least is not talk
            house.drop(least)
        keep(house, [5, title] * 60)
    assert talk in list(house.holdings("kept"))


def test_what_is_never_used_again_goes_in_the_end() -> None:
    house = cache(2)
    old = keep(house, [1] * 200)
    for turn in range(1, 200):
        each = keep(house, [5, turn] * 20)
        house.use(each)
        if house.least("kept") is old:
            return
        house.drop(each)
    raise AssertionError("it stays for ever")


def test_what_is_used_often_is_worth_more() -> None:
    house = cache()
    one, other = keep(house, [1] * 10), keep(house, [2] * 10)
    for _ in range(3):
        house.use(one)
    house.use(other)
    assert house.least("kept") is other


def test_a_sequence_that_gives_up_its_slot_says_what_it_held() -> None:
    house = cache(1)
    each = run(house, [1, 2, 3], read=2)
    slot, holding = house.give_up(each)
    assert holding is not None
    assert holding.tokens.tolist() == [1, 2]
    assert house.take_slot() == (slot, None)


def test_tokens_of_running_sequences_count_once_where_they_are_shared() -> None:
    house = cache()
    first = run(house, [1] * 10 + [2])
    copied = run(house, [1] * 10 + [3], source=house.live(first))
    copied.tokens += [5, 5]
    assert house.live_tokens == 10 + 1 + 1 + 2
    run(house, [1] * 10 + [4])  # which was read for itself, or fetched
    assert house.live_tokens == 10 + 1 + 1 + 2 + 11
    assert house.tokens_beside() == 11 + 13 + 11
    assert house.tokens_beside(copied.slot) == 11 + 11


def test_how_much_is_on_disk() -> None:
    house = cache()
    saved(house, [1] * 10, "disk")
    saved(house, [1] * 20, "host")
    assert house.covered(array([1] * 30), "disk") == 10
    assert house.covered(array([1] * 5), "disk") == 5
    assert house.covered(array([2]), "disk") == 0


@given(st.lists(tokens, max_size=5), tokens, st.data(), st.booleans(), st.sampled_from([1, 2]))
def test_what_is_found_is_a_beginning_and_nobody_has_more(
    prefixes: list[list[int]], wanted: list[int], data: st.DataObject, truncate: bool, multiple: int
) -> None:
    limit = data.draw(st.integers(0, len(wanted)))
    house = cache(max(len(prefixes), 1), truncate=truncate, multiple=multiple)
    usable = [0]
    for prefix in prefixes:
        each = run(house, prefix)
        common = min(common_length(array(prefix), array(wanted)), limit)
        if truncate:
            usable.append(common // multiple * multiple)
        elif common == len(prefix):
            usable.append(common)
        house.end(each, keep=True)
    found = house.find(array(wanted), limit, ROOM)
    assert (found.length if found else 0) == max(usable)
    if found:
        assert found.holding.tokens[: found.length].tolist() == wanted[: found.length]
