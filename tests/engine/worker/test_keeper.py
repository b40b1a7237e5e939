"""Where prefixes lie once their slots are gone, seen from the requests that they serve."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.backends import NAMES, load
from tests.support.loops import MAX_GAP, MUCH, Bench, completed, text

from hubserve_engine.backends.base import Backend
from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.types import Chat, Completed, Message, Request, SamplingOptions
from hubserve_engine.worker.keeper import Keeper
from hubserve_engine.worker.protocol import Step

LONG = "the land and the hour, as told on one long line, again and again and again. " * 20
LARGE = 1 << 26
GREEDY = SamplingOptions(temperature=0.0)
GREEDY_TO_THE_END = SamplingOptions(temperature=0.0, ignore_eos=True)

Store = Callable[[], PrefixStore]


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = load(str(request.param), tmp_path, slots=2, context=8192)
    yield backend
    backend.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return lambda: PrefixStore(tmp_path / "cache", "a model", LARGE)


def chat(*words: str) -> Request:
    """Turns of user and assistant; the last one is the user's."""
    messages = tuple(
        Message("assistant" if index % 2 else "user", text) for index, text in enumerate(words)
    )
    return Request(Chat(messages), sampling=GREEDY, max_tokens=4)


def ask(bench: Bench, request: Request) -> tuple[str, int, str | None]:
    """The answer, how much of the prompt was there, and where."""
    id = bench.submit(request)
    bench.run()
    events = bench.events(id)
    timings = completed(events).timings
    return text(events), timings.cache_n, timings.cache_tier


def files(bench: Bench, store: Store) -> list[int]:
    """How many there are after each step from now on."""
    seen: list[int] = []

    def look(_step: object) -> None:
        bench.keeper.flush(10)
        seen.append(len(store().entries()))

    bench.on_step = look
    return seen


def written(keeper: Keeper, store: Store) -> int:
    """How many files there are once there is nothing more to do."""
    while keeper.tidy():
        pass
    keeper.flush(10)
    return len(store().entries())


def test_a_conversation_that_lost_its_slot_goes_on_from_memory(backend: Backend) -> None:
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, memory=LARGE))
    answer, _, tier = ask(bench, chat(LONG))
    assert tier is None
    for other in "123":
        ask(bench, chat(other + LONG))
    again, cached, tier = ask(bench, chat(LONG))
    assert (again, tier) == (answer, "host")
    assert cached > len(LONG) // 8
    _, more, _ = ask(bench, chat(LONG, answer, "and then?"))
    assert more >= cached


def test_a_conversation_whose_first_answer_is_asked_for_again_can_go_on(backend: Backend) -> None:
    """The first prompt again takes the place of all that came after it."""
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, memory=LARGE))
    first, _, _ = ask(bench, chat("Hello."))
    second, _, _ = ask(bench, chat("Hello.", first, LONG))
    again, _, tier = ask(bench, chat("Hello."))
    assert (again, tier) == (first, "kept")
    _, cached, _ = ask(bench, chat("Hello.", first, LONG, second, "And then?"))
    assert cached > len(LONG) // 8


def test_without_memory_for_copies_it_is_read_again(backend: Backend) -> None:
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, memory=100))
    answer, _, _ = ask(bench, chat(LONG))
    for other in "123":
        ask(bench, chat(other + LONG))
    again, cached, tier = ask(bench, chat(LONG))
    assert (again, tier) == (answer, None if cached == 0 else "kept")
    assert cached < 40  # what all chats begin with


def test_a_prompt_is_not_read_again_after_a_restart(backend: Backend, store: Store) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    answer, _, _ = ask(Bench(backend, keeper=keeper), chat(LONG))
    keeper.flush(10)
    again, cached, tier = ask(
        Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())),
        chat(LONG),
    )
    assert (again, tier) == (answer, "disk")
    assert cached > len(LONG) // 8


def test_a_long_prompt_is_on_disk_while_its_answer_is_written(
    backend: Backend, store: Store
) -> None:
    """So that it is there whatever becomes of the process."""
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    seen = files(bench, store)
    ask(bench, Request(LONG, sampling=GREEDY, max_tokens=20))
    assert seen[3] == 1


def test_a_conversation_that_grows_is_one_file_where_it_can_be_cut(
    backend: Backend, store: Store
) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    words = [LONG]
    for _ in range(2):
        answer, _, _ = ask(bench, chat(*words))
        keeper.flush(10)
        words += [answer, LONG]
    assert written(keeper, store) == (1 if backend.capabilities.restore_truncates else 2)


def test_what_is_short_or_private_is_not_written(backend: Backend, store: Store) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    ask(bench, chat("short"))
    ask(bench, Request(LONG, sampling=GREEDY, max_tokens=3, cache_prompt=False))
    keeper.flush(10)
    assert not store().entries()


def test_a_file_that_is_damaged_costs_no_more_than_the_reading(
    backend: Backend, store: Store, tmp_path: Path
) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    answer, _, _ = ask(Bench(backend, keeper=keeper), chat(LONG))
    keeper.flush(10)
    (file,) = (tmp_path / "cache").rglob("*.prefix")
    data = bytearray(file.read_bytes())
    data[-9] ^= 1
    other = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    file.write_bytes(data)
    assert ask(Bench(backend, keeper=other), chat(LONG)) == (answer, 0, None)


def test_streams_go_on_while_a_prefix_is_read_from_the_disk(
    backend: Backend, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    answer, _, _ = ask(Bench(backend, keeper=keeper), chat(LONG))
    keeper.flush(10)
    slow = store()
    enough = threading.Event()
    load = slow.load
    waited: list[bool] = []

    def load_slowly(entry: Entry) -> memoryview | None:
        waited.append(enough.wait(5))
        return load(entry)

    monkeypatch.setattr(slow, "load", load_slowly)
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=slow))
    asked: list[int] = []

    def look(_step: object) -> None:
        if len(bench.steps) == 3:
            asked.append(bench.submit(chat(LONG)))
        if len(bench.steps) == 10:
            enough.set()

    bench.on_step = look
    stream = bench.submit(Request("the hour", sampling=GREEDY_TO_THE_END, max_tokens=60))
    bench.run()
    assert waited == [True]
    assert len(bench.events(stream)) > 10
    events = bench.events(asked[0])
    assert (text(events), completed(events).timings.cache_tier) == (answer, "disk")


def test_what_would_hold_up_its_own_stream_is_copied_before_that_begins_or_in_parts(
    backend: Backend, store: Store
) -> None:
    """With no pause allowed every copy is too slow. An answer may take minutes, and until its end
    the prompt would be lost with the process."""
    bench = Bench(backend, keeper=Keeper(backend, max_gap=0.0, kept=MUCH, store=store()))
    seen = files(bench, store)
    ask(bench, Request(LONG, sampling=GREEDY_TO_THE_END, max_tokens=60))
    in_parts = backend.capabilities.parts
    assert (seen[0], seen[-1]) == (0 if in_parts else 1, 1)


def test_a_copy_too_slow_for_a_running_stream_is_left_for_later(
    backend: Backend, store: Store
) -> None:
    keeper = Keeper(backend, max_gap=0.0, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    endless = Request("x", sampling=GREEDY_TO_THE_END, max_tokens=4000, cache_prompt=False)
    stream = bench.submit(endless)
    later = bench.prepare(Request(LONG, sampling=GREEDY, max_tokens=4))
    seen: list[int] = []

    def look(step: Step) -> None:
        if not seen:
            bench.take(later)
        keeper.flush(10)
        seen.append(len(store().entries()))
        if any(isinstance(i.event, Completed) and i.id == later.id for i in step.items):
            bench.forget(stream)

    bench.on_step = look
    bench.run()
    assert not any(seen)
    assert written(keeper, store) == 1


def test_what_is_too_slow_to_copy_at_once_is_copied_in_parts_beside_streams(
    backend: Backend, store: Store
) -> None:
    """Where its state allows that; with no pause allowed the parts are as small as they get."""
    keeper = Keeper(backend, max_gap=0.0, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    bench.submit(Request("x", sampling=GREEDY_TO_THE_END, max_tokens=120, cache_prompt=False))
    later = Request(LONG, sampling=GREEDY_TO_THE_END, max_tokens=60)
    seen: list[int] = []

    def look(_step: Step) -> None:
        if len(bench.steps) == 1:
            bench.submit(later)
        keeper.flush(10)
        seen.append(len(store().entries()))

    bench.on_step = look
    bench.run()
    if not backend.capabilities.parts:
        assert not any(seen)
        return
    assert seen[-1] == 1
    answer = "".join(text(bench.events(2))[:20])
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store()))
    again, cached, tier = ask(bench, later)
    assert (again[:20], tier) == (answer, "disk")
    assert cached > len(LONG) // 8


def put_off(bench: Bench) -> None:
    """A long prompt is read, and its copy put off for a stream, which leaves an empty slot."""
    endless = Request("x", sampling=GREEDY_TO_THE_END, max_tokens=4000, cache_prompt=False)
    stream = bench.submit(endless)
    later = bench.prepare(chat(LONG))

    def look(step: Step) -> None:
        if len(bench.steps) == 1:
            bench.take(later)
        if any(isinstance(i.event, Completed) and i.id == later.id for i in step.items):
            bench.forget(stream)

    bench.on_step = look
    bench.run()
    bench.on_step = lambda _step: None


def test_a_copy_that_was_put_off_finds_a_slot_among_those_that_are_kept(
    backend: Backend, store: Store
) -> None:
    """The copy of a state that cannot be cut needs a slot of its own."""
    keeper = Keeper(backend, max_gap=0.0, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    put_off(bench)
    ask(bench, chat("short"))
    assert written(keeper, store) == 1


def test_a_copy_that_found_no_slot_is_made_once_there_is_one(
    backend: Backend, store: Store
) -> None:
    keeper = Keeper(backend, max_gap=0.0, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    put_off(bench)
    ask(bench, chat("what would be lost with its slot " * 6))
    written(keeper, store)
    ask(bench, Request("takes that", sampling=GREEDY, max_tokens=2, cache_prompt=False))
    assert written(keeper, store) == 1


def test_what_is_kept_gives_way_to_what_comes_back(backend: Backend) -> None:
    """The context holds two of these three conversations."""
    room = backend.capabilities.context_length
    long = LONG
    while len(backend.tokenize(long, add_special=True, parse_special=True)) < room * 2 // 5:
        long += LONG
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=MUCH, memory=LARGE))
    answers = [ask(bench, chat(name + long))[0] for name in "123"]
    tiers = []
    for name, answer in zip("123", answers, strict=True):
        again, cached, tier = ask(bench, chat(name + long))
        assert again == answer
        assert cached > room // 5
        tiers.append(tier)
    assert set(tiers) <= {"host", "kept"}
    assert "host" in tiers


def test_what_nobody_uses_leaves_the_context_for_who_runs(backend: Backend) -> None:
    """As attention is computed over all of it, whoever it belongs to."""
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=0, memory=LARGE))
    first, _, _ = ask(bench, chat("1" + LONG))
    used: list[int] = []
    bench.on_step = lambda _step: used.append(bench.keeper.cache.tokens_beside())
    ask(bench, chat("2"))
    assert max(used) < len(LONG) // 8
    again, cached, tier = ask(bench, chat("1" + LONG))
    assert (again, tier) == (first, "host")
    assert cached > len(LONG) // 8


def test_what_would_be_lost_by_it_stays_in_the_context(backend: Backend) -> None:
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=0, memory=100))
    first, _, _ = ask(bench, chat("1" + LONG))
    ask(bench, chat("2"))
    assert ask(bench, chat("1" + LONG))[::2] == (first, "kept")


def test_a_conversation_that_grows_is_one_copy_in_memory(backend: Backend) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=0, memory=LARGE)
    bench = Bench(backend, keeper=keeper)
    words = [LONG]
    for _ in range(3):
        answer, _, _ = ask(bench, chat(*words))
        ask(bench, chat("something else"))
        words += [answer, "And what came then? " * 20]
    copies = list(keeper.cache.holdings("host"))
    assert len(copies) == 1 or not backend.capabilities.restore_truncates


def test_a_long_answer_that_a_copy_would_not_have_stays_in_the_context(backend: Backend) -> None:
    bench = Bench(backend, keeper=Keeper(backend, max_gap=MAX_GAP, kept=0, memory=LARGE))
    prompt = "the land and the hour, as told on one long line"
    request = Request(prompt, sampling=GREEDY_TO_THE_END, max_tokens=300)
    answer, _, _ = ask(bench, request)
    ask(bench, chat("2"))
    _, cached, _ = ask(bench, Request(prompt + answer + " and more", sampling=GREEDY, max_tokens=2))
    # What the tiny models write is no text, so that it has other tokens when it comes back.
    exact = backend.loaded.architecture == "scripted" and backend.capabilities.truncate
    assert cached > 300 or not exact


def test_many_short_prompts_do_not_keep_a_long_one_from_the_disk(
    backend: Backend, store: Store
) -> None:
    keeper = Keeper(backend, max_gap=MAX_GAP, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    for number in range(40):
        bench.submit(Request(f"{number} short", sampling=GREEDY, max_tokens=1))
    bench.run()
    steps: list[int] = []

    def look(_step: object) -> None:
        keeper.flush(10)
        steps.append(len(store().entries()))

    bench.on_step = look
    ask(bench, Request(LONG, sampling=GREEDY_TO_THE_END, max_tokens=20))
    assert steps[4] == 1


def test_a_file_that_made_room_for_another_counts_no_more(backend: Backend, tmp_path: Path) -> None:
    first = "1" + LONG
    keeper = Keeper(
        backend, max_gap=MAX_GAP, kept=MUCH, store=PrefixStore(tmp_path, "a model", LARGE)
    )
    answer, _, _ = ask(Bench(backend, keeper=keeper), chat(first))
    keeper.flush(10)
    (file,) = tmp_path.rglob("*.prefix")
    limit = int(1.5 * file.stat().st_size)
    keeper = Keeper(
        backend,
        max_gap=MAX_GAP,
        kept=0,
        memory=LARGE,
        store=PrefixStore(tmp_path, "a model", limit),
    )
    bench = Bench(backend, keeper=keeper)
    ask(bench, chat(first))
    ask(bench, chat("2" + LONG))
    keeper.flush(10)
    keeper.save(beside=False)
    assert len(list(keeper.cache.holdings("disk"))) == 1
    assert ask(bench, chat(first))[0] == answer
