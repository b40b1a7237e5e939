"""One way to read a call, tried on the text from a trigger on."""

import json

from hubserve_engine.output.named_reading import NamedReading
from hubserve_engine.output.object_reading import ObjectReading
from hubserve_engine.output.offer import Offer
from hubserve_engine.output.opening import Opening
from hubserve_engine.output.reading import Reading, State
from hubserve_engine.output.triggers import Texts, Way
from hubserve_engine.tool_formats.layout import JsonBody, Layout, NamedBody


class Attempt:
    """One that is `held` is silent until it is whole, and has failed if its arguments do not fit.

    `state` becomes "done", with what followed in `rest`, or "failed". `told` is true once something
    of the call was returned, `named` is for whoever tells its name. `misfit` is how much of the
    text was a whole call that did not fit, or as much of one.
    """

    def __init__(self, way: Way, opening: Texts, offer: Offer, *, held: bool) -> None:
        self.way = way
        self.state: State = "open"
        self.rest = ""
        self.told = False
        self.named = False
        self.misfit = 0
        self._held = held
        optional = frozenset("[") if way.layout.array and opening != ("[",) else frozenset[str]()
        self._opening = Opening(opening, optional=optional)
        self._reading = _reading(way.layout, offer, strict=held)
        self._arguments: list[str] = []
        self._read = 0

    @property
    def name(self) -> str:
        assert self._reading.tool is not None
        return self._reading.tool.name

    def feed(self, text: str) -> str:
        """More of the arguments that are to be told."""
        self._read += len(text)
        if self._opening.state == "open":
            self._opening.feed(text)
            if self._opening.state == "missed":
                self.state = "failed"
            if self._opening.state != "met":
                return ""
            text = self._opening.rest
        return self._made(self._reading.feed(text))

    def finish(self, *, stopped: bool) -> str:
        """The last of them. The state is no longer "open" then."""
        if self._opening.state != "met":
            self.state = "failed"
            return ""
        return self._made(self._reading.finish(stopped))

    def _made(self, arguments: str) -> str:
        self.state, self.rest = self._reading.state, self._reading.rest
        if self.state == "failed" and isinstance(self._reading, ObjectReading):
            self.misfit = self._read - self._reading.fed + self._reading.whole
        if self._held:
            self._arguments.append(arguments)
            if self.state != "done":
                return ""
            arguments = "".join(self._arguments)
            if not self._fits(arguments):
                self.state = "failed"
                self.misfit = self._read - len(self.rest)
                return ""
        self.told = self.told or bool(arguments)
        return arguments

    def _fits(self, arguments: str) -> bool:
        tool = self._reading.tool
        try:
            return tool is not None and tool.takes(json.loads(arguments))
        except (ValueError, RecursionError):
            return False


def _reading(layout: Layout, offer: Offer, *, strict: bool) -> Reading:
    match layout.body:
        case JsonBody() as body:
            bare = not (layout.section[0] + layout.call[0]).strip()
            return ObjectReading(body, offer, strict=strict, bare=bare)
        case NamedBody() as body:
            return NamedReading(body, layout.call[1], offer)
