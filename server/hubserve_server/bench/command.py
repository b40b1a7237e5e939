"""The command `hubserve bench`: what it takes, and what it makes of it."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubserve_server.client.errors import ENDED, FAILED, CommandError

if TYPE_CHECKING:
    from hubserve_server.bench.report import Report

RUNS = 5


def bench(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL [FLAG]",
            help="A model to serve and measure, and flags of `serve`.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Measure the server at this base URL instead."),
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Its key.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to ask it for, if not the first that it lists."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="URL", help="Measure this server in turns with it.")
    ] = None,
    against_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="The same, and start it; {port} in the command is its port.",
        ),
    ] = None,
    against_api_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="The other's key.", show_default=False)
    ] = None,
    against_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to ask the other for.")
    ] = None,
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
    from hubserve_server.bench.arguments import chosen, counts
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
    target("--json", json)
    target("--plot", plot)
    if plot and len(sites) < 2:
        raise typer.BadParameter("--plot draws two servers; name the other with --against.")
    try:
        if plot:
            from hubserve_server.bench.plot import check

            check()
        _keep(asyncio.run(survey(sites, scenarios, runs_of, seed, _tell)), json, plot)
    except CommandError as error:
        print(f"hubserve: {error}", file=sys.stderr)
        return FAILED
    except asyncio.CancelledError:
        return ENDED
    return 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _keep(report: "Report", json: Path | None, plot: Path | None) -> None:
    from rich.console import Console

    from hubserve_server.bench.report import show, write_json

    if json:
        write_json(json, report)
    if plot:
        from hubserve_server.bench.plot import draw

        draw(report, plot)
    show(Console(), report)
