"""Turns: both servers are asked the same, one after the other, and the first one changes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from hubserve_server.bench import running
from hubserve_server.bench.report import Measured
from hubserve_server.bench.runner import introduce, measure, notes
from hubserve_server.bench.running import gap, shared, total_rate
from hubserve_server.bench.scenario import FIRST, SPEED, Running, Starting
from hubserve_server.bench.summary import Spread
from hubserve_server.bench.texts import Texts
from hubserve_server.client.client import Answer, Client, Message
from hubserve_server.client.servers import Site, Up


@dataclass
class FakeClient(Client):
    """Answers at once."""

    url: str
    model: str = "m"
    asked: list[list[Message]] = field(default_factory=list)

    async def chat(self, messages: list[Message], tokens: int, **_: object) -> Answer:
        self.asked.append(messages)
        return Answer(0.0, (1.0, 2.0), 2.0, "text", tokens, 5)

    async def software(self) -> str:
        return "fake"


@dataclass
class FakeSite:
    label: str
    starts: bool = True
    where: str = "here"
    ups: list[FakeClient] = field(default_factory=list)

    @asynccontextmanager
    async def up(self) -> AsyncGenerator[Up, None]:
        client = FakeClient(self.label)
        self.ups.append(client)
        yield Up(client)


def run(sites: Sequence[Site], scenario: Running | Starting, runs: int) -> tuple[Measured, ...]:
    told: list[str] = []
    found = asyncio.run(measure(sites, [scenario], {scenario.name: runs}, "s", told.append))
    assert len(told) == runs
    return found


def test_the_order_and_the_texts() -> None:
    turns: list[tuple[str, str]] = []

    async def one(client: Client, texts: Texts) -> Sequence[float]:
        turns.append((client.url, texts.question()))
        return [float(len(turns))]

    (found,) = run([FakeSite("a"), FakeSite("b")], Running("x", "X", (SPEED,), one), 3)
    assert "".join(server for server, _ in turns) == "abbaab"
    questions = [question for _, question in turns]
    assert questions[0::2] == questions[1::2] and len(set(questions)) == 3
    assert found.runs == ((1, 4, 5), (2, 3, 6))
    assert found.ratio == Spread(5 / 6, 1 / 2, 4 / 3)


def test_a_scenario_of_starts_is_left_out_for_a_server_that_runs() -> None:
    async def start(site: Site, texts: Texts) -> Sequence[float]:
        assert site.starts
        return [2.0]

    sites = [FakeSite("a"), FakeSite("b", starts=False)]
    scenario = Starting("x", "X", (FIRST,), start)
    (found,) = run(sites, scenario, 2)
    assert (found.runs, found.ratio) == (((2.0, 2.0), ()), None)
    assert found.servers == (Spread(2, 2, 2), None)
    (note,) = notes(sites, [scenario])
    assert note.startswith("b was not started here") and note.endswith("Left out for it: x.")


def test_each_server_is_asked_once_before_anything_is_measured() -> None:
    site = FakeSite("a", where="serve x")
    told: list[str] = []
    (server,) = asyncio.run(introduce([site], told.append))
    assert (server.label, server.where, server.model, server.software) == (
        *("a", "serve x", "m", "fake"),
    )
    assert told == ["starting a: serve x"]
    assert len(site.ups[0].asked) == 1


def test_a_shared_prompt_is_the_same_in_all_streams_and_the_rest_is_not() -> None:
    client = FakeClient("a")
    total, first = asyncio.run(shared(client, Texts("x")))
    assert (total, first) == (8 * 48 / 2.0, 1.0)
    assert len({str(messages[0]) for messages in client.asked}) == 1
    assert len({str(messages[1]) for messages in client.asked}) > 1


def test_a_total_is_over_all_the_time() -> None:
    early, late = Answer(0, (1,), 2, "", 30, 1), Answer(1, (3,), 4, "", 50, 1)
    assert total_rate([early, late]) == 20


def test_the_worst_gap_is_that_while_the_prompt_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer one, before the prompt came, does not count."""
    now = 0.0

    class Server(FakeClient):
        async def chat(self, messages: list[Message], tokens: int, **calls: object) -> Answer:
            nonlocal now
            if tokens > 100:
                on_text = calls["on_text"]
                assert callable(on_text)
                for number in range(tokens):
                    now += 60.0 if number == 3 else 1.0
                    on_text()
                    await asyncio.sleep(0.001)
            now += 9.0
            return Answer(0.0, (1.0,), 2.0, "", tokens, 5)

    monkeypatch.setattr(running, "time", SimpleNamespace(perf_counter=lambda: now))
    assert asyncio.run(gap(Server("a"), Texts("x"))) == [10_000.0]


def test_a_stream_that_ends_too_early_for_a_gap() -> None:
    with pytest.raises(Exception, match="ended a stream of 2048 tokens"):
        asyncio.run(gap(FakeClient("a"), Texts("x")))
