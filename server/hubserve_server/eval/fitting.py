"""Asks for an answer to each schema of the set, and looks whether it fits."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec
import typer
from jsonschema import Draft202012Validator, validators
from jsonschema.validators import validator_for

from hubserve_server.client.client import Client
from hubserve_server.client.command import Tell
from hubserve_server.client.errors import Refused
from hubserve_server.client.servers import Site
from hubserve_server.client.signals import cancel_on_sigterm


class Case(msgspec.Struct, frozen=True):
    title: str
    schema: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """How answers are asked for."""

    parallel: int
    temperature: float
    max_tokens: int
    seed: int


@dataclass(slots=True)
class Found:
    """Answers that fit, of them those that were closed at their limit apart; that were cut off,
    that do not fit; schemas that were refused."""

    fitting: int = 0
    closed: int = 0
    cut: int = 0
    wrong: int = 0
    refused: int = 0

    def __str__(self) -> str:
        return (
            f"{self.fitting} answers fit, {self.wrong} do not; {self.closed} fit and were closed at"
            f" their limit, {self.cut} were cut off; {self.refused} schemas were refused."
        )


def load() -> list[Case]:
    """The set, a line of JSON each."""
    lines = (files(__package__) / "schemas.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Case) for line in lines]


def chosen(cases: Sequence[Case], titles: Sequence[str]) -> list[Case]:
    """Those that have one of `titles` in theirs; all, if there is none.

    Raises `typer.BadParameter` for one that no schema has.
    """
    for title in titles:
        if not any(title in case.title for case in cases):
            raise typer.BadParameter(
                f"{title!r} is in no schema's title, such as {cases[0].title!r}.",
                param_hint="'--schema'",
            )
    return [case for case in cases if not titles or any(t in case.title for t in titles)]


async def survey(site: Site, cases: Sequence[Case], ask: Ask, tell: Tell) -> Found:
    """Raises CommandError for a server that cannot be asked."""
    cancel_on_sigterm()
    found = Found()
    places = asyncio.Semaphore(ask.parallel)
    async with site.up() as up:

        async def one(number: int, case: Case) -> None:
            async with places:
                said = await _judged(up.client, case, ask, number, found)
            tell(f"{case.title}: {said}")

        async with asyncio.TaskGroup() as group:
            for number, case in enumerate(cases):
                group.create_task(one(number, case))
    return found


async def _judged(client: Client, case: Case, ask: Ask, number: int, found: Found) -> str:
    """One answer, counted, and what is to be said of it."""
    request = {
        "messages": [{"role": "user", "content": f"Invent an example: {case.title}."}],
        "temperature": ask.temperature,
        "max_tokens": ask.max_tokens,
        "seed": ask.seed + number,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": case.schema},
        },
    }
    try:
        (choice,) = (await client.complete(request)).choices
    except Refused as error:
        found.refused += 1
        return f"refused: {error}"
    text = choice.message.content or ""
    problem = misfit(case.schema, text)
    if choice.finish_reason == "length":
        found.cut += problem is not None
        found.closed += problem is None
        what = "closed" if problem is None else "cut off"
        return f"{what}: {text[:60]!r} ... {text[-60:]!r}"
    if problem:
        found.wrong += 1
        return f"WRONG: {problem}: {text!r}"
    found.fitting += 1
    return text


def misfit(schema: Any, text: str) -> str | None:
    """Why a text does not fit a schema, if it does not; formats count, and OpenAPI's `nullable`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"no JSON ({error})"
    kind = validator_for(schema, default=Draft202012Validator)
    by_type = kind.VALIDATORS["type"]

    def type_(validator: Any, types: Any, instance: Any, schema: Any) -> Any:
        if instance is not None or schema.get("nullable") is not True:
            yield from by_type(validator, types, instance, schema)

    knowing: Any = validators.extend(kind, {"type": type_})  # type: ignore[no-untyped-call]
    misfits = knowing(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value)
    return next((each.message for each in misfits), None)
