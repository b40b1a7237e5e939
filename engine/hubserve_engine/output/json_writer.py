"""Sound JSON, written part by part, with what a schema wants of the part that comes next."""

from dataclasses import dataclass

from hubserve_engine.output.shape import Shape, compact

ANYTHING = Shape.of({})


@dataclass(slots=True)
class _Frame:
    """An open object or array, and what the schema wants of the value that comes next in it."""

    opening: str
    shape: Shape
    inside: Shape


class JsonWriter:
    """Writes one value. A comma waits for what it stands before, and is dropped where nothing
    follows."""

    def __init__(self, shape: Shape) -> None:
        self._root = shape
        self._stack: list[_Frame] = []
        self._comma = ""
        self._out: list[str] = []

    @property
    def depth(self) -> int:
        """How many objects and arrays are open."""
        return len(self._stack)

    @property
    def in_object(self) -> bool:
        return bool(self._stack) and self._stack[-1].opening == "{"

    @property
    def in_array(self) -> bool:
        return bool(self._stack) and self._stack[-1].opening == "["

    @property
    def shape(self) -> Shape:
        """What is wanted of the next value."""
        return self._stack[-1].inside if self._stack else self._root

    def take(self) -> str:
        """What was written since the last time."""
        out = "".join(self._out)
        self._out.clear()
        return out

    def write(self, text: str) -> None:
        """A value or the beginning of one, or a part of one."""
        if self._comma:
            self._out.append(self._comma)
            self._comma = ""
        if text:
            self._out.append(text)

    def space(self, text: str) -> None:
        if self._comma:
            self._comma += text
        elif self._stack:
            self._out.append(text)

    def comma(self) -> None:
        self._comma = ","

    def key(self, name: str) -> None:
        self.write(compact(name))
        frame = self._stack[-1]
        frame.inside = frame.shape.property(name)

    def open(self, bracket: str) -> None:
        shape = self.shape
        self.write(bracket)
        inside = shape.item() if bracket == "[" else ANYTHING
        self._stack.append(_Frame(bracket, shape, inside))

    def close(self) -> None:
        """The innermost."""
        self._out.append(self._comma.removeprefix(","))
        self._comma = ""
        if self._stack:
            self._out.append("]" if self._stack.pop().opening == "[" else "}")

    def close_by(self, bracket: str) -> None:
        """Up to what `bracket` closes, or the innermost where it closes nothing; `)` closes all."""
        opening = {"]": "[", "}": "{"}.get(bracket, "")
        if not opening:
            while self._stack:
                self.close()
            return
        if any(frame.opening == opening for frame in self._stack):
            while self._stack[-1].opening != opening:
                self.close()
        self.close()
