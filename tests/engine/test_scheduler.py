import pytest
from tests.support.sequences import sequence

from hubserve_engine.scheduler import Admission, Scheduler, Work
from hubserve_engine.sequence import Sequence


def scheduler(
    *,
    slots: int = 4,
    capacity: int = 1000,
    max_batch: int = 64,
    min_chunk: int = 1,
    truncate: bool = True,
) -> Scheduler:
    return Scheduler(
        slots=slots,
        capacity=capacity,
        max_batch=max_batch,
        min_chunk=min_chunk,
        truncate=truncate,
    )


def admit(scheduler: Scheduler) -> list[Admission]:
    """Admissions, carried out as a backend that can do everything would."""
    admissions = []
    for admission in scheduler.admit():
        admission.sequence.hold(admission.reused)
        admissions.append(admission)
    return admissions


def run(works: list[Work], token: int = 7) -> None:
    for work in works:
        work.sequence.cached += work.count
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
    assert max(counts) <= max(budget, 15)


def test_a_step_never_holds_more_than_it_can() -> None:
    house = scheduler(slots=4, max_batch=16, min_chunk=8)
    add(house, sequence([1]), sequence([1]), sequence([2] * 100), sequence([3] * 100))
    admit(house)
    assert sum(count for count, _ in sizes(house.plan(1000))) <= 16


def test_who_came_first_is_served_first() -> None:
    house = scheduler(slots=2)
    waiting = [sequence([1, 2, 3], arrival=i) for i in range(4)]
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
    assert (again.slot, again.reused, again.source) == (admission.slot, len(first.tokens) - 1, None)
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
def test_choices_of_a_request_share_the_reading(min_chunk: int) -> None:
    house = scheduler(min_chunk=min_chunk)
    leader = sequence([1] * 40, arrival=0)
    followers = [sequence([1] * 40, arrival=i, leader=leader) for i in (1, 2)]
    add(house, leader, *followers)
    assert [a.sequence for a in admit(house)] == [leader]
    works = house.plan(1000)
    assert sizes(works) == [(40 - min_chunk, False)]
    run(works)
    admissions = admit(house)
    assert [(a.sequence, a.reused, a.source) for a in admissions] == [
        (follower, 40 - min_chunk, leader.slot) for follower in followers
    ]
    assert sizes(house.plan(1000)) == [(min_chunk, True)] * 3


def test_others_do_not_wait_for_a_prompt_that_is_shared() -> None:
    house = scheduler(slots=3)
    leader = sequence([1] * 40, arrival=0)
    follower, other = sequence([1] * 40, arrival=1, leader=leader), sequence([2], arrival=2)
    add(house, leader, follower, other)
    assert [a.sequence for a in admit(house)] == [leader, other]


def test_a_leader_without_a_slot_for_its_followers_goes_on_alone() -> None:
    house = scheduler(slots=1)
    leader = sequence([1] * 10, arrival=0)
    follower = sequence([1] * 10, arrival=1, leader=leader)
    add(house, leader, follower)
    admit(house)
    run(house.plan(100))
    assert admit(house) == []
    run(house.plan(100))
    assert leader.started
    run(house.plan(100))
    house.finish(leader, keep=True)
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused) == (follower, 9)


def test_a_leader_that_is_gone_leaves_its_followers_to_themselves() -> None:
    house = scheduler()
    leader = sequence([1] * 10, arrival=0)
    follower = sequence([1] * 10, arrival=1, leader=leader)
    add(house, leader, follower)
    admit(house)
    house.finish(leader, keep=False)
    (admission,) = admit(house)
    assert (admission.sequence, admission.reused) == (follower, 0)


def test_room_is_made_from_kept_prefixes_first_then_from_the_youngest() -> None:
    house = scheduler()
    done, old, young = (sequence([i] * 5, arrival=i) for i in range(3))
    add(house, done, old, young)
    kept, _, last = (a.slot for a in admit(house))
    run(house.plan(100))
    house.finish(done, keep=True)
    assert house.make_room() == kept
    assert house.make_room() == last
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
