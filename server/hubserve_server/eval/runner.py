"""Asks each server all requests of the set, one after the other."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from hubserve_server.client.client import Client
from hubserve_server.client.command import Tell
from hubserve_server.client.machine import this_machine
from hubserve_server.client.servers import Server, Site
from hubserve_server.client.signals import cancel_on_sigterm
from hubserve_server.eval.asking import ask
from hubserve_server.eval.cases import Case, CaseSet, Kind
from hubserve_server.eval.judging import judge
from hubserve_server.eval.report import Report, Row, Verdict

HELLO = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}


async def survey(sites: Sequence[Site], cases: CaseSet, tell: Tell) -> Report:
    """Raises CommandError for a server that cannot be asked."""
    cancel_on_sigterm()
    date = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        servers: list[Server] = []
        for site in sites:
            tell(f"{'starting' if site.starts else 'asking'} {site.label}: {site.where}")
            client = (await stack.enter_async_context(site.up())).client
            await client.complete(HELLO)
            clients.append(client)
            software = await client.software()
            servers.append(Server(site.label, site.where, client.model, software))
        rows: list[Row] = []
        kinds: tuple[tuple[Kind, tuple[Case, ...]], ...]
        kinds = (("call", cases.calls), ("text", cases.texts))
        for kind, group in kinds:
            for case in group:
                row = await _row(clients, cases, case, kind)
                tell(f"{kind}, {case.title}: {' against '.join(v.text for v in row.verdicts)}")
                rows.append(row)
    return Report(date, this_machine(), tuple(servers), tuple(rows))


async def _row(clients: Sequence[Client], cases: CaseSet, case: Case, kind: Kind) -> Row:
    verdicts = []
    for client in clients:
        reply = await ask(client, cases.request(case), streamed=case.streamed)
        verdicts.append(Verdict(judge(cases, case, reply), reply))
    return Row(kind, case.title, case.streamed, tuple(verdicts))
