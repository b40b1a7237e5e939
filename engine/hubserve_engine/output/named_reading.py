"""A call whose arguments follow its name."""

from hubserve_engine.output.json_reading import JsonReading
from hubserve_engine.output.nested_reading import NestedReading
from hubserve_engine.output.offer import Offer, Tool
from hubserve_engine.output.opening import Opening
from hubserve_engine.output.python_reading import PythonReading
from hubserve_engine.output.reading import ArgumentsReading, State
from hubserve_engine.output.tagged_reading import TaggedReading
from hubserve_engine.tool_formats.layout import (
    JsonArguments,
    NamedBody,
    NestedArguments,
    PythonArguments,
    TaggedArguments,
)


class NamedReading:
    """The name, the middle, then arguments of one kind. `closing` ends the call."""

    def __init__(self, body: NamedBody, closing: str, offer: Offer) -> None:
        self.state: State = "open"
        self.rest = ""
        self.tool: Tool | None = None
        self._body = body
        # Where its end is of several tags, the first of them ends the arguments.
        self._closing = next(iter((body.end + closing).split()), "")
        self._offer = offer
        self._text = ""
        self._middle: Opening | None = None
        self._arguments: ArgumentsReading | None = None

    def feed(self, text: str) -> str:
        if self.state != "open":
            self.rest += text
            return ""
        if self.tool is None:
            self._text = (self._text + text).lstrip()
            found = self._offer.begins(self._text)
            if found is None:
                self.state = "failed"
            if not isinstance(found, tuple):
                return ""
            self.tool, text = found
            self._middle = Opening((self._body.middle,))
        if self._arguments is None:
            assert self._middle is not None
            self._middle.feed(text)
            if self._middle.state == "missed":
                self.state = "failed"
            if self._middle.state != "met":
                return ""
            text = self._middle.rest
            self._arguments = self._reader(self.tool)
        out = self._arguments.feed(text)
        self.state, self.rest = self._arguments.state, self._arguments.rest
        return out

    def finish(self, stopped: bool) -> str:
        if self._arguments is None:
            self.state = "failed"
        if self._arguments is None or self.state != "open":
            return ""
        out = self._arguments.finish(stopped)
        self.state = self._arguments.state
        return out

    def _reader(self, tool: Tool) -> ArgumentsReading:
        match self._body.arguments:
            case JsonArguments(quote):
                return JsonReading(tool.shape, quote)
            case TaggedArguments() as tags:
                return TaggedReading(tags, tool.shape, self._closing)
            case PythonArguments():
                return PythonReading(tool.shape)
            case NestedArguments(mark):
                return NestedReading(tool.shape, mark, self._closing)
