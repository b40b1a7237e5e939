"""What every reply and every chunk of one answer starts with."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TypeVar

from hubserve_engine.types import Completed
from hubserve_server.wire.replies import ChatChunk, TextCompletion

Reply = TypeVar("Reply", ChatChunk, TextCompletion)


@cache
def fingerprint() -> str:
    """Names the software behind an answer; it changes with what can change answers."""
    return f"hubserve-{metadata.version('hubserve')}"


@dataclass(frozen=True, slots=True)
class Heading:
    """`created` is in seconds since 1970. `on_completed` hears of the counts, for the log."""

    id: str
    model: str
    on_completed: Callable[[Completed], None]
    created: int = field(default_factory=lambda: int(time.time()))

    @classmethod
    def new(cls, prefix: str, model: str, on_completed: Callable[[Completed], None]) -> "Heading":
        return cls(f"{prefix}-{uuid.uuid4().hex}", model, on_completed)

    def bare(self, kind: type[Reply]) -> Reply:
        """A reply without choices, which is the form of the chunk that carries the usage."""
        return kind(
            id=self.id,
            created=self.created,
            model=self.model,
            system_fingerprint=fingerprint(),
            choices=[],
        )
