"""The values that metadata can hold, and how they are read."""

from array import array
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any, Literal, TypeAlias, overload

from .cursor import Cursor
from .errors import GGUFError

MAX_STRINGS = 2**21
"""The most strings that the arrays of one file may hold together."""
MAX_TEXT_BYTES = 2**24
"""The most bytes of one string that are decoded. A file with a longer one is read all the same."""
UINT32 = 4
"""The number of this type in files; the others: `enum gguf_type` of ggml's gguf.h."""

_BOOL, _STRING, _ARRAY = 7, 8, 9
_FORMATS: dict[int, Literal["B", "b", "H", "h", "I", "i", "f", "?", "Q", "q", "d"]] = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    UINT32: "I",
    5: "i",
    6: "f",
    _BOOL: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_LAYOUTS = {number: Struct(f"<{letter}") for number, letter in _FORMATS.items()}
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Text:
    """A string that is decoded when it is asked for: a file may hold one of many megabytes."""

    view: memoryview

    def decode(self) -> str:
        """Raises GGUFError if it is longer than MAX_TEXT_BYTES."""
        return _decode(self.view, "strict")


class StringArray(Sequence[str]):
    """Strings that stay in the file until they are asked for, such as the tokens of a vocabulary.

    A token may be a part of a character. Bytes that are not UTF-8 become lone surrogates, from
    which `text.encode("utf-8", "surrogateescape")` makes the same bytes again.
    """

    __slots__ = ("_positions", "_view")

    def __init__(self, view: memoryview, positions: "array[int]") -> None:
        self._view = view
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start, end = self._positions[index] + 8, self._positions[index + 1]
        return _decode(self._view[start:end], "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        # Sequence's own iterator is slower by half, which a vocabulary makes felt.
        view, start = self._view, self._positions[0]
        for end in self._positions[1:]:
            yield _decode(view[start + 8 : end], "surrogateescape")
            start = end


NumberArray: TypeAlias = "memoryview[Any]"
"""Numbers or bools of one type, read-only and not copied; `format` is the letter of `struct`."""
Value: TypeAlias = "int | float | bool | str | NumberArray | StringArray"
StoredValue: TypeAlias = "int | float | bool | Text | NumberArray | StringArray"


class ValueReader:
    """Reads values from a cursor, and counts the strings of all their arrays together."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._strings_left = MAX_STRINGS

    def read(self, only: int | None = None) -> StoredValue:
        """The next value, behind its type; `only` this type is accepted, where it is given.

        Raises GGUFError if the value breaks a rule of the format.
        """
        number = self._cursor.u32()
        if only not in (None, number):
            raise GGUFError(f"the value has the type {number}, it has to have {only}")
        if number == _STRING:
            return self._text()
        if number == _ARRAY:
            return self._array()
        layout = _LAYOUTS.get(number)
        if layout is None:
            raise GGUFError(f"the value type {number} is not known")
        view = self._cursor.take(layout.size)
        if number == _BOOL:
            _check_bools(view)
        value: int | float | bool = layout.unpack(view)[0]
        return value

    def _text(self) -> Text:
        view = self._cursor.take(self._cursor.u64())
        decoder = getincrementaldecoder("utf-8")()
        try:
            # In pieces: one character can make the decoded whole four times as large.
            for start in range(0, len(view), _CHUNK):
                decoder.decode(view[start : start + _CHUNK])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as problem:
            raise GGUFError(f"the text is not UTF-8: {problem.reason}") from None
        return Text(view)

    def _array(self) -> "NumberArray | StringArray":
        number, count = self._cursor.u32(), self._cursor.u64()
        if number == _STRING:
            if count > self._strings_left:
                raise GGUFError(
                    f"an array of {count} strings; the arrays of a file may hold {MAX_STRINGS} "
                    "in all"
                )
            self._strings_left -= count
            return StringArray(*self._cursor.take_strings(count))
        if number == _ARRAY:
            raise GGUFError("arrays of arrays are not part of any model that can be loaded")
        layout = _LAYOUTS.get(number)
        if layout is None:
            raise GGUFError(f"the type {number} of an array's elements is not known")
        view = self._cursor.take(count * layout.size)
        if number == _BOOL:
            _check_bools(view)
        return view.cast(_FORMATS[number])


def _check_bools(view: memoryview) -> None:
    for start in range(0, len(view), _CHUNK):
        if bytes(view[start : start + _CHUNK]).translate(None, b"\0\1"):
            raise GGUFError("a bool is neither 0 nor 1")


def _decode(view: memoryview, errors: str) -> str:
    if len(view) > MAX_TEXT_BYTES:
        raise GGUFError(f"a text of {len(view)} bytes is too long, {MAX_TEXT_BYTES} are read")
    return str(view, "utf-8", errors)
