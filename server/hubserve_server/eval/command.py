"""The command `hubserve eval tools`: what it takes, and what its exit code says."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from hubserve_server.client.errors import ENDED, FAILED, CommandError

AT_LEAST = 18


def tools(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL [FLAG]",
            help="A model to serve and try, and flags of `serve`.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Try the server at this base URL instead.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Its key.", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to ask it for, if not the first that it lists."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="URL", help="Try this server beside it.")
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
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only requests with this in the title; may be repeated."),
    ] = None,
    at_least: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Fewer right answers than this are a failure."),
    ] = AT_LEAST,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every answer to this file.")
    ] = None,
) -> int:
    """Try a server with requests that offer tools: does it return the calls that a model means?

    The exit code is 0 if enough is right, and no request for text is answered with a call.
    """
    from rich.console import Console

    from hubserve_server.client.arguments import servers, target
    from hubserve_server.eval.arguments import chosen
    from hubserve_server.eval.cases import load
    from hubserve_server.eval.report import show, write_json
    from hubserve_server.eval.runner import survey

    sites = servers(
        "eval tools",
        words or (),
        (url, api_key, model),
        (against, against_api_key, against_model),
        against_command,
    )
    target("--json", json)
    cases = chosen(load(), request or ())
    try:
        report = asyncio.run(survey(sites, cases, _tell))
        if json:
            write_json(json, report)
    except CommandError as error:
        print(f"hubserve: {error}", file=sys.stderr)
        return FAILED
    except asyncio.CancelledError:
        return ENDED
    show(Console(), report)
    right, _ = report.right(0, "call")
    return 0 if right >= at_least and not report.false_calls(0) else FAILED


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
