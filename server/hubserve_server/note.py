"""What the log is told of a request by those who answer it."""

from dataclasses import dataclass

from starlette.types import Scope

from hubserve_engine.types import Completed

KEY = "hubserve.note"
"""Where a request's scope has its note."""


@dataclass(slots=True)
class Note:
    """`completed` has the counts of an answer, `failure` what it ended with instead."""

    completed: Completed | None = None
    failure: Exception | None = None

    def add(self, completed: Completed) -> None:
        self.completed = completed


def note_of(scope: Scope) -> Note:
    """The note of a request; one that nobody reads, where no log is kept."""
    note = scope.setdefault(KEY, Note())
    assert isinstance(note, Note)
    return note
