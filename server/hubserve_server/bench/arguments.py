"""What the words of the command mean. Everything here raises `typer.BadParameter`."""

import re
from collections.abc import Mapping, Sequence

import typer

from hubserve_server.bench.scenario import Running, Starting
from hubserve_server.client.servers import Site

Scenarios = Sequence[Running | Starting]


def chosen(scenarios: Scenarios, names: Sequence[str]) -> Scenarios:
    """Those that are named, in their own order; all, if none is."""
    for name in names:
        _known(scenarios, name, "--scenario")
    return [each for each in scenarios if not names or each.name in names]


def askable(scenarios: Scenarios, sites: Sequence[Site]) -> None:
    """Says now that all are scenarios that start their server, and all servers run already."""
    if all(isinstance(each, Starting) for each in scenarios) and not any(s.starts for s in sites):
        names = ", ".join(each.name for each in scenarios)
        where = " or ".join(site.label for site in sites)
        raise typer.BadParameter(
            f"Nothing can be measured of {where}, which was not started here: {names} starts a"
            " server itself. Name a model instead of --url, or a command with --against-command.",
            param_hint="'--scenario'",
        )


def counts(scenarios: Scenarios, given: Sequence[str], usual: int) -> Mapping[str, int]:
    """The runs of each scenario by its name: of `N`, and of `NAME=N`, which goes before."""
    everywhere = usual
    of_one: dict[str, int] = {}
    for value in given:
        name, equals, number = value.rpartition("=")
        if not re.fullmatch("[1-9][0-9]{0,3}", number):
            raise typer.BadParameter(
                f"{value!r} is neither a number of runs nor one for a scenario, as in 'edit=3'.",
                param_hint="'--runs'",
            )
        if equals:
            _known(scenarios, name, "--runs")
            of_one[name] = int(number)
        else:
            everywhere = int(number)
    return {each.name: of_one.get(each.name, everywhere) for each in scenarios}


def _known(scenarios: Scenarios, name: str, option: str) -> None:
    names = [each.name for each in scenarios]
    if name not in names:
        raise typer.BadParameter(
            f"{name!r} is no scenario; there are: {', '.join(names)}.", param_hint=repr(option)
        )
