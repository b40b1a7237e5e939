"""Arguments that are the keyword arguments of a call in Python."""

import re

from hubserve_engine.output.json_mender import JsonMender
from hubserve_engine.output.reading import State
from hubserve_engine.output.shape import Shape

_FIRST = re.compile(r"\s*(\)|[^\W\d]\w*\s*=)")
_MAYBE = re.compile(r"\s*(\w*\s*)")
_LONGEST_NAME = 100


class PythonReading:
    """Read up to the closing bracket. Arguments without a name are none of a tool's."""

    def __init__(self, shape: Shape) -> None:
        self.state: State = "open"
        self.rest = ""
        self._mender = JsonMender(shape, python=True)
        self._begin: str | None = ""

    def feed(self, text: str) -> str:
        if self._begin is not None:
            text = self._begin + text
            if not _FIRST.match(text):
                waits = _MAYBE.fullmatch(text) and len(text) < _LONGEST_NAME
                self._begin = text
                self.state = "open" if waits else "failed"
                return ""
            self._begin = None
        out = self._mender.feed(text)
        if self._mender.done:
            self.state, self.rest = "done", self._mender.rest
        return out

    def finish(self, stopped: bool) -> str:
        self.state = "failed"
        return ""
