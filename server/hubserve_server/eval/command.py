"""The command `hubserve eval tools`: what it takes, and what its exit code says."""

import asyncio
from pathlib import Path
from typing import Annotated

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
from hubserve_server.client.errors import FAILED

AT_LEAST = 18


def tools(
    words: Words = None,
    url: Url = None,
    api_key: ApiKey = None,
    model: Model = None,
    against: Against = None,
    against_command: AgainstCommand = None,
    against_api_key: AgainstApiKey = None,
    against_model: AgainstModel = None,
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only requests with this in the title; may be repeated."),
    ] = None,
    forced_: Annotated[
        bool,
        typer.Option(
            "--forced",
            metavar="",
            help="Force each request that offers tools to a call, of any of them and of one by"
            " name: right is one call that fits, whatever it says.",
        ),
    ] = False,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the random numbers with which `--forced` asks.")
    ] = 1,
    at_least: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help=f"Fewer right answers than this are a failure: {AT_LEAST}, or all that are"
            " forced.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every answer to this file.")
    ] = None,
) -> int:
    """Try a server with requests that offer tools: does it return the calls that a model means?

    The exit code is 0 if enough is right, and no request for text is answered with a call.
    """
    from rich.console import Console

    from hubserve_server.client.arguments import servers, target
    from hubserve_server.client.files import write_json
    from hubserve_server.eval.arguments import chosen
    from hubserve_server.eval.cases import forced, load
    from hubserve_server.eval.report import show
    from hubserve_server.eval.runner import survey

    sites = servers(
        "eval tools",
        words or (),
        (url, api_key, model),
        (against, against_api_key, against_model),
        against_command,
    )
    target("--json", json)
    cases = chosen(forced(load(), seed) if forced_ else load(), request or ())
    with ending():
        report = asyncio.run(survey(sites, cases, tell))
        show(Console(), report)  # first: a disk that is full by now does not cost what was found
        if json:
            write_json(json, report)
    right, asked = report.right(0, "call")
    if at_least is None:
        at_least = asked if forced_ else AT_LEAST
    return 0 if right >= at_least and not report.false_calls(0) else FAILED
