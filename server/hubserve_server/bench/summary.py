"""Numbers of several runs in three: the median, the lowest and the highest."""

import math
import statistics
from collections.abc import Sequence

import msgspec


class Spread(msgspec.Struct, frozen=True):
    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Of one value or more."""
    return Spread(statistics.median(values), min(values), max(values))


def ratios(values: Sequence[float], others: Sequence[float]) -> Spread:
    """Of each run's value to the other's in the same run: what disturbs both does not count."""
    return spread([a / b if b else math.nan for a, b in zip(values, others, strict=True)])


def nearest_rank(values: Sequence[float], part: float) -> float:
    """The value that `part` (above 0, to 1) of all do not exceed, one of `values`."""
    return sorted(values)[max(0, math.ceil(len(values) * part) - 1)]
