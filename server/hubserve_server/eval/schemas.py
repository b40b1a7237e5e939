"""The command `hubserve eval schemas`: 200 schemas, and whether a server's answers fit them."""

import asyncio
from typing import Annotated

import typer

from hubserve_server.client.command import ApiKey, Model, Url, Words, ending, tell
from hubserve_server.client.errors import FAILED

REFUSED = 5
"""Schemas of the whole set that may be refused, ..."""
FINISHED = 180
"""... and those of which an answer has to come to its end."""
WHOLE = 200


def schemas(
    words: Words = None,
    url: Url = None,
    api_key: ApiKey = None,
    model: Model = None,
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
    with ending():
        found = asyncio.run(survey(site, cases, ask, tell))
    print(found)
    share = len(cases) / WHOLE
    good = found.refused <= max(REFUSED * share, 1) and found.fitting >= FINISHED * share
    return 0 if good and not found.wrong else FAILED
