"""Runs the scenarios: both servers in turns, in the order A B, B A, A B ...

First those that start their servers, with one server up at a time; then, with both up, the others.
What a run asks is the same for both, and new in each run.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from tempfile import TemporaryDirectory

from hubserve_server.bench.report import Measured, Report, number
from hubserve_server.bench.running import RUNNING, user
from hubserve_server.bench.scenario import Running, Scenario, Starting
from hubserve_server.bench.starting import STARTING
from hubserve_server.bench.summary import ratios, spread
from hubserve_server.bench.texts import Texts
from hubserve_server.client.command import Tell
from hubserve_server.client.machine import this_machine
from hubserve_server.client.servers import Local, Server, Site
from hubserve_server.client.signals import cancel_on_sigterm

SCENARIOS: tuple[Running | Starting, ...] = (*RUNNING, *STARTING)

Turn = Callable[[Texts], Awaitable[Sequence[float]]]
"""One run of a scenario at one server: a value for each figure."""


async def survey(
    sites: Sequence[Site],
    scenarios: Sequence[Running | Starting],
    runs: Mapping[str, int],
    seed: str | None,
    tell: Tell,
) -> Report:
    """Measures; without a seed, what has never been asked.

    What servers of ours keep on disk goes to a folder of its own: a user's prefixes make no room
    for what is asked here.
    """
    cancel_on_sigterm()
    began = datetime.now(UTC)
    seed = seed or f"{began:%Y%m%d%H%M%S}"
    with TemporaryDirectory(prefix="hubserve-bench-") as cache:
        sites = [replace(s, cache=cache) if isinstance(s, Local) else s for s in sites]
        servers = await introduce(sites, tell)
        figures = await measure(sites, scenarios, runs, seed, tell)
    date = f"{began:%Y-%m-%d %H:%M} UTC"
    return Report(date, seed, this_machine(), servers, figures, notes(sites, scenarios))


async def introduce(sites: Sequence[Site], tell: Tell) -> tuple[Server, ...]:
    """Asks each server one thing: whether it works is known before anything is measured, and what
    is slow the first time, such as reading a model from disk, is done."""
    known: list[Server] = []
    for site in sites:
        tell(f"{'starting' if site.starts else 'asking'} {site.label}: {site.where}")
        async with site.up() as server:
            await server.client.chat(user("Say hello."), 4)
            software = await server.client.software()
            known.append(Server(site.label, site.where, server.client.model, software))
    return tuple(known)


async def measure(
    sites: Sequence[Site],
    scenarios: Sequence[Running | Starting],
    runs: Mapping[str, int],
    seed: str,
    tell: Tell,
) -> tuple[Measured, ...]:
    """Every figure of `scenarios`, in their order; `runs` has the number of runs by name.

    Those that start their servers are left out for a server that was not started here.
    """
    found: dict[str, list[Measured]] = {}

    async def take(scenario: Scenario, turns: Sequence[Turn | None]) -> None:
        found[scenario.name] = await _rounds(scenario, turns, runs[scenario.name], seed, tell)

    for each in scenarios:
        if isinstance(each, Starting) and any(site.starts for site in sites):
            await take(each, [partial(each.measure, s) if s.starts else None for s in sites])
    running = [each for each in scenarios if isinstance(each, Running)]
    if running:
        async with AsyncExitStack() as stack:
            clients = [(await stack.enter_async_context(site.up())).client for site in sites]
            for client in clients:
                await client.chat(user("Say hello."), 16)
            for each in running:
                await take(each, [partial(each.measure, client) for client in clients])
    return tuple(figure for each in scenarios for figure in found.get(each.name, ()))


def notes(sites: Sequence[Site], scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """What is taken for granted of servers that were not started here, and left out for them."""
    said: list[str] = []
    left = [each.name for each in scenarios if isinstance(each, Starting)]
    for site in sites:
        if not site.starts:
            out = f" Left out for it: {', '.join(left)}." if left else ""
            said.append(
                f"{site.label} was not started here. It is taken to be idle otherwise, and to know"
                f" temperature 0 and ignore_eos.{out}"
            )
    return tuple(said)


async def _rounds(
    scenario: Scenario, turns: Sequence[Turn | None], count: int, seed: str, tell: Tell
) -> list[Measured]:
    """`turns` has one for each server, None for a server that this cannot be asked of."""
    values: list[list[Sequence[float]]] = [[] for _ in turns]
    for run in range(count):
        order = list(enumerate(turns))
        for index, turn in reversed(order) if run % 2 else order:
            if turn:
                values[index].append(await turn(Texts(f"{seed} {scenario.name} {run}")))
        tell(f"{scenario.title}, run {run + 1} of {count}: {_this_run(scenario, values)}")
    return [
        _measured(scenario, place, [tuple(each[place] for each in runs) for runs in values])
        for place in range(len(scenario.figures))
    ]


def _this_run(scenario: Scenario, values: Sequence[Sequence[Sequence[float]]]) -> str:
    return ", ".join(
        " against ".join(number(runs[-1][place]) for runs in values if runs)
        + f" {figure.unit} ({figure.name})"
        for place, figure in enumerate(scenario.figures)
    )


def _measured(scenario: Scenario, place: int, runs: Sequence[tuple[float, ...]]) -> Measured:
    figure = scenario.figures[place]
    return Measured(
        scenario=scenario.name,
        title=scenario.title,
        figure=figure.name,
        unit=figure.unit,
        better=figure.better,
        runs=tuple(runs),
        servers=tuple(spread(values) if values else None for values in runs),
        ratio=ratios(*runs) if len(runs) == 2 and all(runs) else None,
    )
