"""What a scenario is: a situation that a user knows, and the figures that it is measured by."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hubserve_server.bench.texts import Texts
from hubserve_server.client.client import Client
from hubserve_server.client.servers import Site


@dataclass(frozen=True, slots=True)
class Figure:
    """`better` is the direction in which a server is to go."""

    name: str
    unit: Literal["tok/s", "s", "ms", "MiB"]
    better: Literal["higher", "lower"]


SPEED = Figure("speed", "tok/s", "higher")
FIRST = Figure("first token", "s", "lower")


@dataclass(frozen=True, slots=True)
class Scenario:
    """`name` is for the command line, `title` for people."""

    name: str
    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Running(Scenario):
    """Of servers that are up; `measure` gives a value for each figure."""

    measure: Callable[[Client, Texts], Awaitable[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Starting(Scenario):
    """Of servers that each run starts itself, one at a time."""

    measure: Callable[[Site, Texts], Awaitable[Sequence[float]]]
