"""Arguments with a tag for each value, however deep."""

import re

from hubserve_engine.output.json_mender import value_text
from hubserve_engine.output.reading import State
from hubserve_engine.output.shape import Shape, compact

_TAG = re.compile(r"<(/?)([^<>]*)>")
_DEEPEST = 100


class NestedReading:
    """Read at `closing`, and told at once. `mark` is before every tag."""

    def __init__(self, shape: Shape, mark: str, closing: str) -> None:
        self.state: State = "open"
        self.rest = ""
        self._shape = shape
        self._mark = mark
        self._closing = closing
        self._text = ""

    def feed(self, text: str) -> str:
        start = max(0, len(self._text) - len(self._closing))
        self._text += text
        at = self._text.find(self._closing, start)
        if at < 0:
            return ""
        self.rest = self._text[at + len(self._closing) :]
        return self._read(self._text[:at])

    def finish(self, stopped: bool) -> str:
        self.state = "failed"
        return ""

    def _read(self, text: str) -> str:
        self.state = "failed"
        first, *parts = text.split(self._mark)
        root = _Value(self._shape)
        open_values = [root]
        for part in parts:
            tag = _TAG.match(part)
            if tag is None:
                return ""
            if not tag[1]:
                if len(open_values) > _DEEPEST:
                    return ""
                open_values.append(open_values[-1].child(tag[2]))
                open_values[-1].text = part[tag.end() :]
            elif len(open_values) > 1 and open_values[-1].key == tag[2]:
                open_values.pop()
            else:
                return ""
        if len(open_values) > 1 or first.strip():
            return ""
        self.state = "done"
        return root.json()


class _Value:
    def __init__(self, shape: Shape, key: str = "") -> None:
        self.key = key
        self.text = ""
        self._shape = shape
        self._children: list[_Value] = []

    def child(self, key: str) -> "_Value":
        in_array = self._shape.types is not None and "array" in self._shape.types
        shape = self._shape.item() if in_array else self._shape.property(key)
        self._children.append(_Value(shape, key))
        return self._children[-1]

    def json(self) -> str:
        """Its own JSON, and that of all in it."""
        types = self._shape.types or frozenset(("string",))
        keys = {child.key for child in self._children}
        if "array" in types or (len(self._children) > 1 and keys == {"item"}):
            return "[" + ", ".join(child.json() for child in self._children) + "]"
        empty = "object" in types and "string" not in types and not self.text.strip()
        if self._children or empty:
            members = (f"{compact(child.key)}: {child.json()}" for child in self._children)
            return "{" + ", ".join(members) + "}"
        return value_text(self.text, self._shape)
