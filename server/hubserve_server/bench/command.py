"""The command `hubserve bench`: what it takes, and what it makes of it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubserve_server.client.command import (
    Against,
    AgainstApiKey,
    AgainstCommand,
    AgainstModel,
    ApiKey,
    Model,
    Url,
    Words,
    ending,
    tell,
)

if TYPE_CHECKING:
    from hubserve_server.bench.report import Report

RUNS = 5


def bench(
    words: Words = None,
    url: Url = None,
    api_key: ApiKey = None,
    model: Model = None,
    against: Against = None,
    against_command: AgainstCommand = None,
    against_api_key: AgainstApiKey = None,
    against_model: AgainstModel = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this one; may be repeated."),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N|NAME=N",
            help=f"Runs of each scenario, or of one; may be repeated. [default: {RUNS}]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Ask what a report with this seed has asked."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every run's figures to this file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the comparison to this file.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", metavar="", help="List the scenarios.", show_default=False)
    ] = False,
) -> int:
    """Measure a server as its users feel it, alone or in turns with another."""
    from hubserve_server.bench.arguments import askable, chosen, counts
    from hubserve_server.bench.runner import SCENARIOS, survey
    from hubserve_server.client.arguments import servers, target

    if list_:
        for each in SCENARIOS:
            print(f"{each.name:12} {each.title}")
        return 0
    scenarios = chosen(SCENARIOS, scenario or ())
    runs_of = counts(SCENARIOS, runs or (), RUNS)
    sites = servers(
        "bench",
        words or (),
        (url, api_key, model),
        (against, against_api_key, against_model),
        against_command,
    )
    askable(scenarios, sites)
    target("--json", json)
    target("--plot", plot)
    if plot and len(sites) < 2:
        raise typer.BadParameter("--plot draws two servers; name the other with --against.")
    with ending():
        if plot:
            from hubserve_server.bench.plot import check

            check()
        _keep(asyncio.run(survey(sites, scenarios, runs_of, seed, tell)), json, plot)
    return 0


def _keep(report: "Report", json: Path | None, plot: Path | None) -> None:
    from rich.console import Console

    from hubserve_server.bench.report import show
    from hubserve_server.client.files import write_json

    show(Console(), report)  # first: a disk that is full by now does not cost what was measured
    if json:
        write_json(json, report)
    if plot:
        from hubserve_server.bench.plot import draw

        draw(report, plot)
