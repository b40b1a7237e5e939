import numpy as np
import pytest
from tests.support.sequences import sequence

from hubserve_engine.prefix_cache import Holding, PrefixCache
from hubserve_engine.scheduler import OVER, Admission, Scheduler, Work
from hubserve_engine.sequence import Sequence


def scheduler(
    *,
    slots: int = 4,
    parallel: int | None = None,
    capacity: int = 1000,
    max_batch: int = 64,
    min_chunk: int = 1,
    multiple: int = 1,
    truncate: bool = True,
) -> Scheduler:
    return Scheduler(
        parallel=parallel or slots,
        capacity=capacity,
        max_batch=max_batch,
        min_chunk=min_chunk,
        multiple=multiple,
        cache=PrefixCache(range(slots), truncate=truncate, multiple=multiple),
    )


def admit(scheduler: Scheduler) -> list[Admission]:
    """Admissions, carried out as a backend that can do everything would."""
    admissions = []
    for admission in scheduler.admit():
        source = admission.source
        admission.sequence.hold(
            admission.reused, source.tier if source else None, source.marks if source else ()
        )
        admissions.append(admission)
    return admissions


def source(admission: Admission) -> int | None:
    """The slot that its prefix is copied from, None if it has it or nobody has."""
    holding = admission.source
    return holding.slot if holding and holding.slot != admission.slot else None


def run(works: list[Work], token: int = 7) -> None:
    for work in works:
        work.sequence.cached += work.count
        if work.sequence.cached in work.sequence.pauses:
            work.sequence.mark()
        if work.last:
            work.sequence.tokens.append(token)


def sizes(works: list[Work]) -> list[tuple[int, bool]]:
    return [(work.count, work.last) for work in works]


def add(scheduler: Scheduler, *sequences: Sequence) -> None:
    for each in sequences:
        scheduler.add(each)


def test_a_prompt_is_read_in_parts_and_the_last_one_asks_for_a_token() -> None:
    house = scheduler()
    add(house, sequence([1] * 25))
    admit(house)
    seen = []
    for _ in range(4):
        works = house.plan(10)
        run(works)
        seen += sizes(works)
    assert seen == [(10, False), (10, False), (5, True), (1, True)]


def test_those_that_write_come_first_and_prompts_fill_the_budget() -> None:
    house = scheduler()
    writer, first, second = sequence([1]), sequence([2] * 8), sequence([3] * 8)
    add(house, first, writer, second)
    admit(house)
    works = house.plan(10)
    assert [(w.sequence, w.count, w.last) for w in works] == [
        (writer, 1, True),
        (first, 8, True),
        (second, 2, False),
    ]


@pytest.mark.parametrize("budget", [0, 1, 5, 8, 11, 16, 100])
@pytest.mark.parametrize("length", [1, 3, 8, 9, 12, 15, 16, 17, 23, 24, 100])
def test_no_part_of_a_prompt_is_too_small(budget: int, length: int) -> None:
    house = scheduler(min_chunk=8)
    add(house, sequence([1] * length))
    admit(house)
    counts: list[int] = []
    while sum(counts) < length:
        works = house.plan(budget)
        counts += [work.count for work in works]
        run(works)
    assert sum(counts) == length
    assert min(counts) >= min(8, length)
    assert max(counts) <= max(budget + budget // OVER, 15)


def test_a_step_never_holds_more_than_it_can() -> None:
    house = scheduler(slots=4, max_batch=20, min_chunk=8)
    add(house, sequence([1]), sequence([1]), sequence([2] * 100), sequence([3] * 100))
    admit(house)
    assert sum(count for count, _ in sizes(house.plan(1000))) <= 20


def test_who_came_first_is_served_first() -> None:
    house = scheduler(slots=3, parallel=2)
    waiting = [sequence([i, 2, 3], arrival=i) for i in range(4)]
    add(house, *waiting)
    assert [a.sequence for a in admit(house)] == waiting[:2]
    assert admit(house) == []
    house.finish(waiting[1], keep=False)
    assert [a.sequence for a in admit(house)] == [waiting[2]]


def test_one_that_does_not_fit_yet_is_not_overtaken() -> None:
    house = scheduler(capacity=100)
    big, bigger, small = sequence([1] * 60), sequence([2] * 60), sequence([3])
    add(house, big, bigger, small)
    assert [a.sequence for a in admit(house)] == [big]
    house.finish(big, keep=True)
    assert [a.sequence for a in admit(house)] == [bigger, small]


def test_an_empty_house_takes_whatever_comes() -> None:
    house = scheduler(capacity=100)
    add(house, sequence([1] * 99))
    assert len(admit(house)) == 1


def test_the_next_turn_of_a_conversation_goes_on_where_the_last_one_ended() -> None:
    house = scheduler()
    first = sequence([1, 2, 3])
    add(house, first)
    (admission,) = admit(house)
    run(house.plan(10))
    run(house.plan(10))
    assert house.finish(first, keep=True) is None
    second = sequence([*first.tokens, 8, 9])
    add(house, second)
    (again,) = admit(house)
    # The last token was sampled, but never read.
    assert (again.slot, again.reused) == (admission.slot, len(first.tokens) - 1)
    assert second.reused == len(first.tokens) - 1


@pytest.mark.parametrize(("min_chunk", "reused"), [(1, 29), (8, 22)])
def test_the_same_prompt_again_is_read_in_parts_of_the_same_kind(
    min_chunk: int, reused: int
) -> None:
    house = scheduler(min_chunk=min_chunk)
    first, second = sequence([1] * 30), sequence([1] * 30)
    add(house, first)
    admit(house)
    run(house.plan(100))
    house.finish(first, keep=True)
    add(house, second)
    admit(house)
    assert second.reused == reused


def test_a_request_may_keep_its_prompt_to_itself() -> None:
    house = scheduler()
    first, second = sequence([1] * 10, reuse=False), sequence([1] * 10, reuse=False)
    add(house, first)
    (admission,) = admit(house)
    run(house.plan(100))
    assert house.finish(first, keep=False) == admission.slot
    add(house, second)
    admit(house)
    assert second.reused == 0


@pytest.mark.parametrize("min_chunk", [1, 8])
def test_those_that_begin_alike_share_the_reading(min_chunk: int) -> None:
    house = scheduler(min_chunk=min_chunk)
    first = sequence([1] * 40, arrival=0)
    same, other = sequence([1] * 40, arrival=1), sequence([1] * 20 + [2] * 20, arrival=2)
    add(house, first, same, other)
    assert [a.sequence for a in admit(house)] == [first]
    run(house.plan(12))
    assert admit(house) == []
    run(house.plan(8))
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused, source(admission)) == (other, 20, first.slot)
    assert (other.reused, other.tier) == (20, "live")
    run(house.plan(20))
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused) == (same, 40 - min_chunk)


def test_the_reading_of_a_state_without_a_past_halts_where_others_branch_off() -> None:
    house = scheduler(truncate=False, min_chunk=4, multiple=4)
    first = sequence([1] * 40, arrival=0)
    other, near = sequence([1] * 18 + [2] * 20, arrival=1), sequence([1] * 3 + [2] * 20, arrival=2)
    add(house, first, other, near)
    # There is nothing to be had before the first chunk.
    assert [a.sequence for a in admit(house)] == [first, near]
    works = house.plan(1000)
    assert (works[0].sequence, works[0].count) == (first, 16)
    run(works)
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused, source(admission)) == (other, 16, first.slot)


def test_a_mark_serves_later_though_the_reading_went_on() -> None:
    house = scheduler(slots=3, parallel=1, truncate=False, min_chunk=4, multiple=4)
    first = sequence([1] * 40, pauses=[20])
    add(house, first)
    (begin,) = admit(house)
    run(house.plan(100))
    run(house.plan(100))
    house.finish(first, keep=True)
    other = sequence([1] * 22 + [3] * 20)
    add(house, other)
    (admission,) = admit(house)
    assert (admission.reused, source(admission), other.marks) == (20, begin.slot, (20,))


def test_others_do_not_wait_for_a_prompt_that_is_shared() -> None:
    house = scheduler(slots=3)
    first, same = sequence([1] * 40, arrival=0), sequence([1] * 40, arrival=1)
    other = sequence([2], arrival=2)
    add(house, first, same, other)
    assert [a.sequence for a in admit(house)] == [first, other]


def test_what_is_read_while_no_place_is_free_is_had_later() -> None:
    house = scheduler(slots=1)
    first, same = sequence([1] * 10, arrival=0), sequence([1] * 10, arrival=1)
    add(house, first, same)
    admit(house)
    run(house.plan(100))
    assert admit(house) == []
    run(house.plan(100))
    house.finish(first, keep=True)
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused) == (same, 9)


@pytest.mark.parametrize("truncate", [True, False])
def test_when_the_one_that_reads_is_gone_the_next_takes_over(truncate: bool) -> None:
    house = scheduler(truncate=truncate, min_chunk=4)
    first, second, third = (sequence([1] * 40, arrival=i) for i in range(3))
    add(house, first, second, third)
    admit(house)
    run(house.plan(12))
    house.finish(first, keep=False)
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused) == (second, 0)
    while third in house.waiting:
        run(house.plan(12))
        admit(house)
    assert third.reused == 36


def test_one_that_keeps_its_prompt_to_itself_is_not_waited_for() -> None:
    house = scheduler()
    alone, other = sequence([1] * 40, reuse=False), sequence([1] * 40)
    add(house, alone, other)
    assert [a.sequence for a in admit(house)] == [alone, other]


def test_a_prefix_that_is_in_no_slot_gets_one() -> None:
    house = scheduler(slots=1)
    copy = Holding(np.array([1] * 80, np.int32), "disk", cuttable=True, state=b"")
    house.cache.add(copy)
    one = sequence([1] * 90)
    add(house, one)
    (admission,) = admit(house)
    assert (admission.reused, admission.source, one.tier) == (80, copy, "disk")


def test_what_is_larger_than_the_room_beside_running_ones_is_not_fetched() -> None:
    house = scheduler(slots=2, capacity=200)
    house.cache.add(Holding(np.array([1] * 150, np.int32), "disk", cuttable=True, state=b""))
    add(house, sequence([2] * 60), sequence([1] * 100))
    assert [(a.reused, a.source) for a in admit(house)] == [(0, None), (0, None)]


def test_a_part_of_a_kept_prefix_is_copied_while_a_slot_is_empty() -> None:
    house = scheduler(slots=2, parallel=1)
    talk = finished(house, [1, 2, 3])
    admission = begun(house, [1, 2, 9, 9])
    assert (admission.reused, source(admission)) == (2, talk.slot)


def test_a_stranger_does_not_cut_a_conversation() -> None:
    house = scheduler(slots=3, parallel=1)
    talk = finished(house, [1, 2, 3, 4, 5])
    other, third = finished(house, [7]), finished(house, [8])
    admission = begun(house, [1, 2, 9, 9])
    assert (admission.reused, source(admission)) == (2, talk.slot)
    assert admission.evicted in (other, third)


def test_the_next_turn_takes_the_place_of_its_conversation() -> None:
    house = scheduler(slots=2, parallel=1)
    talk = finished(house, [1, 2, 3, 4])
    finished(house, [7])
    admission = begun(house, [1, 2, 9])
    assert (admission.slot, admission.reused, admission.evicted) == (talk.slot, 2, None)


def test_the_only_one_is_cut_even_by_a_stranger() -> None:
    house = scheduler(slots=1)
    talk = finished(house, [1, 2, 3, 4, 5])
    admission = begun(house, [1, 9])
    assert (admission.slot, admission.reused) == (talk.slot, 1)


def test_the_same_prompt_again_takes_its_own_place() -> None:
    """With an answer of any length behind it."""
    house = scheduler(slots=3, parallel=1)
    finished(house, [9])
    talk = finished(house, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    admission = begun(house, [1, 2, 3])
    assert (admission.slot, admission.reused) == (talk.slot, 2)


def finished(house: Scheduler, tokens: list[int]) -> Holding:
    """A kept prefix."""
    admission = begun(house, tokens)
    run([Work(admission.sequence, admission.sequence.uncached, last=False)])
    house.finish(admission.sequence, keep=True)
    (holding,) = [h for h in house.cache.holdings("kept") if h.tokens.tolist() == tokens]
    return holding


def begun(house: Scheduler, tokens: list[int]) -> Admission:
    add(house, sequence(tokens))
    (admission,) = admit(house)
    return admission


def test_sequences_that_share_their_beginning_share_its_room() -> None:
    house = scheduler(slots=4, capacity=100)
    add(house, *(sequence([1] * 60 + [i], arrival=i) for i in range(4)))
    admit(house)
    run(house.plan(100))
    assert len(admit(house)) == 3


def test_room_is_made_from_kept_prefixes_first_then_from_the_youngest() -> None:
    house = scheduler()
    done, old, young = (sequence([i] * 5, arrival=i) for i in range(3))
    add(house, done, old, young)
    kept, _, last = (a.slot for a in admit(house))
    run(house.plan(100))
    house.finish(done, keep=True)
    evicted = house.make_room()
    assert evicted and evicted.holding
    assert (evicted.slot, evicted.holding.tokens.tolist()) == (kept, [0] * 5)
    evicted = house.make_room()
    assert evicted and evicted.holding
    assert (evicted.slot, evicted.holding.tokens.tolist()) == (last, [2] * 5)
    assert (house.running, house.waiting) == ((old,), (young,))
    assert (young.slot, young.cached, young.reused) == (None, 0, 0)
    assert house.make_room() is None


def test_one_that_gave_way_comes_back_first_and_with_all_it_has_written() -> None:
    house = scheduler(capacity=20)
    old, young, later = (sequence([i] * 5, arrival=i) for i in range(3))
    add(house, old, young, later)
    admit(house)
    run(house.plan(100))
    house.make_room()
    house.make_room()
    assert house.waiting == (young, later)
    house.finish(old, keep=False)
    admit(house)
    works = house.plan(100)
    assert [(w.sequence, w.count) for w in works] == [(young, 6), (later, 6)]


def test_one_that_gave_way_does_not_come_back_into_the_same_trouble() -> None:
    """Else it is read and thrown away, again and again."""
    house = scheduler(capacity=64)
    old, young = sequence([1] * 40, arrival=0), sequence([2] * 20, arrival=1)
    add(house, old, young)
    admit(house)
    while sum(s.cached for s in house.running) + len(house.running) <= 64:
        run(house.plan(100))
    house.make_room()
    assert house.running == (old,)
    assert admit(house) == []


def test_a_waiting_sequence_can_be_taken_out() -> None:
    house = scheduler(slots=1)
    first, second = sequence([1]), sequence([2])
    add(house, first, second)
    admit(house)
    assert house.finish(second, keep=True) is None
    assert house.waiting == ()
    assert not house.idle
    house.finish(first, keep=True)
    assert house.idle
