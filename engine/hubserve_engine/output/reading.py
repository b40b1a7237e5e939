"""One call, or its arguments, read as they come."""

from typing import Literal, Protocol

from hubserve_engine.output.offer import Tool

State = Literal["open", "done", "failed"]


class ArgumentsReading(Protocol):
    """The arguments of a call, from where they begin. `state` is "open" until they are "done", with
    what followed in `rest`, or "failed": then it was no call."""

    state: State
    rest: str

    def feed(self, text: str) -> str:
        """More of the arguments, as JSON."""
        ...

    def finish(self, stopped: bool) -> str:
        """The last of them, where the text ends. "done" or "failed" follows: a call that was cut
        off has failed. `stopped` says that the model ended by itself."""
        ...


class Reading(ArgumentsReading, Protocol):
    """A call, from where its name or its object begins. `tool` is known before the first of the
    arguments is returned."""

    tool: Tool | None
