"""The result: a record that is the JSON file, and the table that a terminal shows."""

from typing import Literal

import msgspec
from rich.console import Console
from rich.table import Table

from hubserve_server.bench.summary import Spread
from hubserve_server.client.machine import Machine
from hubserve_server.client.servers import Server


class Measured(msgspec.Struct, frozen=True):
    """A figure of a scenario. `runs` has a list for each server, a value for each run; `ratio` is
    the first server's to the second's, run by run."""

    scenario: str
    title: str
    figure: str
    unit: str
    better: Literal["higher", "lower"]
    runs: tuple[tuple[float, ...], ...]
    servers: tuple[Spread | None, ...]
    ratio: Spread | None = None


class Report(msgspec.Struct, frozen=True):
    """`notes` say what was left out or taken for granted; `seed` makes the same texts again."""

    date: str
    seed: str
    machine: Machine
    servers: tuple[Server, ...]
    figures: tuple[Measured, ...]
    notes: tuple[str, ...] = ()


def number(value: float) -> str:
    """As many digits as count: "0.012", "1.23", "12.3", "1234"."""
    for bound, digits in ((99.95, 0), (9.995, 1), (0.09995, 2), (0.009995, 3)):
        if abs(value) >= bound:
            return f"{value:.{digits}f}"
    return f"{value:.4f}"


def spread_text(spread: Spread) -> str:
    return f"{number(spread.median)} ({number(spread.low)}-{number(spread.high)})"


def show(console: Console, report: Report) -> None:
    """The table, then the servers and the notes, each on a line of its own."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("scenario")
    table.add_column("figure")
    for server in report.servers:
        table.add_column(server.label, justify="right", no_wrap=True)
    if len(report.servers) > 1:
        table.add_column("ratio", justify="right", no_wrap=True)
    before = ""
    for each in report.figures:
        title = "" if each.scenario == before else each.title
        before = each.scenario
        cells = [spread_text(spread) if spread else "" for spread in each.servers]
        if len(report.servers) > 1:
            cells.append(spread_text(each.ratio) if each.ratio else "")
        table.add_row(title, f"{each.figure}, {each.unit} {arrow(each)}", *cells)
    console.print()
    console.print(table)
    console.print()
    for server in report.servers:
        console.print(f"{server.label}: {server.software}, {server.model}", soft_wrap=True)
    for note in report.notes:
        console.print(note, soft_wrap=True)


def arrow(measured: Measured) -> str:
    """Which way is better."""
    return "↑" if measured.better == "higher" else "↓"
