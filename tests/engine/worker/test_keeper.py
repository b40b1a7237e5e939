"""Where prefixes lie once their slots are gone, seen from the requests that they serve."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.backends import NAMES, load
from tests.support.loops import MAX_GAP, MUCH, Bench, completed, text

from hubserve_engine.backends.base import Backend
from hubserve_engine.prefix_store.store import PrefixStore
from hubserve_engine.types import Chat, Message, Request, SamplingOptions
from hubserve_engine.worker.keeper import Keeper

LONG = "the land and the hour, as told on one long line, again and again and again. " * 20
LARGE = 1 << 26
GREEDY = SamplingOptions(temperature=0.0)

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
    while keeper.tidy():
        pass
    keeper.flush(10)
    assert len(store().entries()) == (1 if backend.capabilities.restore_truncates else 2)


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


def test_a_copy_too_slow_for_a_running_stream_is_left_for_later(
    backend: Backend, store: Store
) -> None:
    keeper = Keeper(backend, max_gap=0.0, kept=MUCH, store=store())
    bench = Bench(backend, keeper=keeper)
    seen = files(bench, store)
    ask(bench, Request(LONG, sampling=GREEDY, max_tokens=20))
    assert not any(seen)
    while keeper.tidy():
        pass
    keeper.flush(10)
    assert len(store().entries()) == 1


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
    bench.on_step = lambda _step: used.append(bench.keeper.cache.slot_tokens)
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
