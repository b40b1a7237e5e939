"""Arguments that stand one by one between tags."""

from typing import Literal

from hubserve_engine.output.json_mender import value_text
from hubserve_engine.output.reading import State
from hubserve_engine.output.shape import Shape, compact
from hubserve_engine.stop import partial_suffix
from hubserve_engine.tool_formats.layout import TaggedArguments


class TaggedReading:
    """`closing` is what ends all of them. A value that can only be a string streams."""

    def __init__(self, tags: TaggedArguments, shape: Shape, closing: str) -> None:
        self.state: State = "open"
        self.rest = ""
        self._shape = shape
        self._closing = closing
        self._key = tuple(text.strip() for text in tags.key)
        self._value = tuple(text.strip() for text in tags.value)
        self._leading_line = (tags.key[1] + tags.value[0]).endswith("\n")
        self._trailing_line = tags.value[1].startswith("\n")
        self._verbatim = tags.verbatim
        self._end_text = self._value[1]
        self._kinds = {text.strip(): kind for kind, text in tags.kinds}
        self._text = ""
        self._at: Literal["between", "key", "kind", "start", "value"] = "between"
        self._property = shape
        self._kept: list[str] | None = None
        self._count = 0
        self._out: list[str] = []

    def feed(self, text: str) -> str:
        self._text += text
        while self.state == "open" and self._step():
            pass
        if self.state == "done":
            self.rest, self._text = self._text, ""
        return self._take()

    def finish(self, stopped: bool) -> str:
        if stopped and self._at == "between":
            self._end()
        else:
            self.state = "failed"
        return self._take()

    def _step(self) -> bool:
        match self._at:
            case "between":
                return self._between()
            case "key":
                return self._name()
            case "kind":
                return self._kind()
            case "start":
                return self._start()
            case "value":
                return self._more()

    def _between(self) -> bool:
        text = self._text = self._text.lstrip()
        if text.startswith(self._key[0]):
            self._text = text[len(self._key[0]) :]
            self._at = "key"
            return True
        if self._closing and text.startswith(self._closing):
            self._text = text[len(self._closing) :]
            self._end()
            return False
        if not text or self._key[0].startswith(text) or self._closing.startswith(text):
            return False
        if not self._count:
            self.state = "failed"
            return False
        self._end()  # its closing was forgotten
        return False

    def _name(self) -> bool:
        at = self._text.find(self._key[1])
        if at < 0:
            return False
        key = self._text[:at].strip()
        self._text = self._text[at + len(self._key[1]) :]
        self._out.append(("{" if not self._count else ", ") + compact(key) + ": ")
        self._count += 1
        self._property = self._shape.property(key)
        self._at = "kind"
        return True

    def _kind(self) -> bool:
        if self._value[0]:
            at = self._text.find(self._value[0])
            if at < 0:
                return False
            kind = self._kinds.get(self._text[:at].strip())
            self._text = self._text[at + len(self._value[0]) :]
            if kind == "string" and self._property.types is None:
                self._property = Shape.of({"type": "string"})
        self._kept = None if self._property.text_only else []
        if self._kept is None:
            self._out.append('"')
        self._at = "start"
        return True

    def _start(self) -> bool:
        if not self._text:
            return False
        if self._leading_line:
            self._text = self._text.removeprefix("\n")
        self._end_text = self._value[1]
        before, behind = self._verbatim
        if before and self._text.startswith(before):
            self._text = self._text[len(before) :]
            self._end_text = behind + self._end_text
        elif before.startswith(self._text) and before:
            return False
        self._at = "value"
        return True

    def _more(self) -> bool:
        at = self._text.find(self._end_text)
        if at >= 0:
            value = self._text[:at]
            self._text = self._text[at + len(self._end_text) :]
            self._add(value.removesuffix("\n") if self._trailing_line else value)
            self._end_value()
            return True
        safe = len(self._text) - partial_suffix(self._text, (self._end_text,))
        if self._trailing_line and self._text[:safe].endswith("\n"):
            safe -= 1
        self._add(self._text[:safe])
        self._text = self._text[safe:]
        return False

    def _add(self, text: str) -> None:
        if self._kept is None:
            self._out.append(compact(text)[1:-1])
        else:
            self._kept.append(text)

    def _end_value(self) -> None:
        if self._kept is None:
            self._out.append('"')
        else:
            self._out.append(value_text("".join(self._kept), self._property))
        self._at = "between"

    def _end(self) -> None:
        self._out.append("}" if self._count else "{}")
        self.state = "done"

    def _take(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out
