"""Arguments that are one object of JSON."""

from hubserve_engine.output.json_mender import JsonMender
from hubserve_engine.output.reading import State
from hubserve_engine.output.shape import Shape


class JsonReading:
    """`quote` is the quotation mark of the format."""

    def __init__(self, shape: Shape, quote: str) -> None:
        self.state: State = "open"
        self.rest = ""
        self._mender = JsonMender(shape, quote=quote)
        self._began = False

    def feed(self, text: str) -> str:
        if not self._began:
            text = text.lstrip()
            if not text:
                return ""
            self._began = True
            if text[0] != "{":
                self.state = "failed"
                return ""
        out = self._mender.feed(text)
        if self._mender.done:
            self.state, self.rest = "done", self._mender.rest
        return out

    def finish(self, stopped: bool) -> str:
        whole = stopped and self._mender.between
        self.state = "done" if whole else "failed"
        return self._mender.finish() if whole else ""
