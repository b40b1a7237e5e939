"""What came of it: a record that is the JSON file, and the table that a terminal shows."""

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hubserve_server.client.machine import Machine
from hubserve_server.client.servers import Server
from hubserve_server.eval.asking import Reply
from hubserve_server.eval.cases import Kind


class Verdict(msgspec.Struct, frozen=True):
    """`wrong` says what is wrong with the reply; None is right."""

    wrong: str | None
    reply: Reply

    @property
    def text(self) -> str:
        shortened = self.reply.calls and self.reply.finish_reason == "length"
        return self.wrong or ("right, shortened" if shortened else "right")


class Row(msgspec.Struct, frozen=True):
    """A request; `verdicts` has one for each server."""

    kind: Kind
    title: str
    streamed: bool
    verdicts: tuple[Verdict, ...]


class Report(msgspec.Struct, frozen=True):
    date: str
    machine: Machine
    servers: tuple[Server, ...]
    rows: tuple[Row, ...]

    def right(self, server: int, kind: Kind) -> tuple[int, int]:
        """How many requests of a kind the server with this place got right, and of how many."""
        verdicts = [row.verdicts[server] for row in self.rows if row.kind == kind]
        return sum(verdict.wrong is None for verdict in verdicts), len(verdicts)

    def false_calls(self, server: int) -> int:
        """Requests for text that were answered with a call."""
        replies = [row.verdicts[server].reply for row in self.rows if row.kind == "text"]
        return sum(bool(reply.calls) for reply in replies)


def show(console: Console, report: Report) -> None:
    """The table, then a line for each server."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("wanted")
    table.add_column("request")
    table.add_column("streamed")
    for server in report.servers:
        table.add_column(server.label, overflow="fold")
    for row in report.rows:
        streamed = "yes" if row.streamed else "no"
        # What a model wrote is no markup of ours.
        verdicts = [Text(verdict.text) for verdict in row.verdicts]
        table.add_row(row.kind, row.title, streamed, *verdicts)
    console.print()
    console.print(table)
    console.print()
    for place, server in enumerate(report.servers):
        console.print(Text(f"{server.label}: {summary(report, place)}"), soft_wrap=True)
        console.print(Text(f"  {server.software}, {server.model}"), soft_wrap=True)


def summary(report: Report, server: int) -> str:
    right, calls = report.right(server, "call")
    _, texts = report.right(server, "text")
    return f"{right} of {calls} right, {report.false_calls(server)} false calls in {texts}"
