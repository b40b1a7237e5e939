"""The command `hubserve eval schemas`: 200 schemas, and whether a server's answers fit them."""

import asyncio
import sys
from typing import Annotated

import typer

from hubserve_server.client.errors import ENDED, FAILED, CommandError

REFUSED = 5
"""Schemas of the whole set that may be refused, ..."""
FINISHED = 180
"""... and those of which an answer has to come to its end."""
WHOLE = 200


def schemas(
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
    schema: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only schemas with this in the title; may be repeated."),
    ] = None,
    parallel: Annotated[
        int, typer.Option(min=1, metavar="N", help="Requests at the same time.")
    ] = 4,
    temperature: Annotated[float, typer.Option(min=0, metavar="N", help="Of sampling.")] = 1.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="Where an answer is cut off.")
    ] = 400,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the first; each has the next.")] = 1,
) -> int:
    """Try a server with JSON Schemas: does every answer fit that is not cut off?

    The exit code is 0 if all of them fit, few schemas are refused, and most answers end.
    """
    from hubserve_server.client.arguments import servers
    from hubserve_server.eval.fitting import Ask, chosen, load, survey

    nobody = (None, None, None)
    (site,) = servers("eval schemas", words or (), (url, api_key, model), nobody, None)
    cases = chosen(load(), schema or ())
    ask = Ask(parallel, temperature, max_tokens, seed)
    try:
        found = asyncio.run(survey(site, cases, ask, _tell))
    except CommandError as error:
        print(f"hubserve: {error}", file=sys.stderr)
        return FAILED
    except asyncio.CancelledError:
        return ENDED
    print(found)
    share = len(cases) / WHOLE
    good = found.refused <= max(REFUSED * share, 1) and found.fitting >= FINISHED * share
    return 0 if good and not found.wrong else FAILED


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
