"""What the server counts, for Prometheus.

Names end as Prometheus asks: in `_total` for what only grows, in the unit for what is measured.
"""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hubserve_engine.errors import EngineError
from hubserve_engine.types import Completed, Delta, Event, ToolCallDelta
from hubserve_server.engine import Engine

PREFIX = "hubserve"
FIRST_TOKEN = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120)
PER_TOKEN = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
"""Upper ends of the histograms' buckets, in seconds: from a GPU to a large model on few cores."""


# The time at which each counter began would be one more line for each.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics(Collector):
    """The counts of one application, in a registry of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._registry = CollectorRegistry()
        self._requests = self._counter(
            "requests",
            "Generations, by their end: completed, client_left or an error.",
            "outcome",
        )
        self._responses = self._counter("http_responses", "HTTP responses, by status.", "status")
        self._read = self._counter("prompt_tokens", "Prompt tokens that the model read.")
        self._cached = self._counter(
            "prompt_tokens_cached", "Prompt tokens taken from a cache, by where it was.", "tier"
        )
        self._written = self._counter("generated_tokens", "Tokens that the model wrote.")
        self._first_token = self._histogram(
            "time_to_first_token_seconds",
            "From a request's arrival to its first token, waiting included.",
            FIRST_TOKEN,
        )
        self._per_token = self._histogram(
            "time_per_output_token_seconds",
            "Time for each token after the first, one mean a request.",
            PER_TOKEN,
        )
        self._registry.register(self)

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, namespace=PREFIX, registry=self._registry)

    def _histogram(self, name: str, help: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, help, namespace=PREFIX, registry=self._registry, buckets=buckets)

    def collect(self) -> Iterator[Metric]:
        """What the engine knows by itself, at the moment it is asked."""
        engine = self._engine
        yield GaugeMetricFamily(
            f"{PREFIX}_requests_running", "Requests that are worked on.", engine.active
        )
        yield GaugeMetricFamily(
            f"{PREFIX}_requests_waiting", "Requests in the queue.", engine.waiting
        )
        yield CounterMetricFamily(
            f"{PREFIX}_worker_restarts",
            "How often the model's process was started again after it had ended.",
            engine.restarts,
        )

    def text(self) -> bytes:
        """All of it, in Prometheus's text format."""
        return generate_latest(self._registry)

    def responded(self, status: int) -> None:
        self._responses.labels(str(status)).inc()

    async def watch(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The same events. Closing this closes them."""
        began, first = time.monotonic(), True
        outcome = "client_left"
        try:
            async with aclosing(events):
                async for event in events:
                    if first and isinstance(event, Delta | ToolCallDelta):
                        first = False
                        self._first_token.observe(time.monotonic() - began)
                    elif isinstance(event, Completed):
                        outcome = "completed"
                        self._count(event)
                    yield event
        except EngineError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal_error"
            raise
        finally:
            self._requests.labels(outcome).inc()

    def _count(self, completed: Completed) -> None:
        timings = completed.timings
        self._read.inc(timings.prompt_n)
        if timings.cache_tier is not None:
            self._cached.labels(timings.cache_tier).inc(timings.cache_n)
        self._written.inc(timings.predicted_n)
        if timings.predicted_n > 1:
            self._per_token.observe(timings.predicted_ms / 1000 / (timings.predicted_n - 1))
