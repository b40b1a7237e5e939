"""What a GGUF file says about itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from .cursor import Cursor
from .errors import GGUFError
from .values import UINT32, StoredValue, StringArray, Text, Value, ValueReader

MAX_KEY_BYTES = 65535
ALIGNMENT = "general.alignment"
"""The one key that says how the file itself is to be read."""


class Metadata(Mapping[str, Value]):
    """The metadata, in the file's order.

    Where only one type makes sense, ask by type: None is "not there", and a value of another type
    raises GGUFError with the key and what is there instead.
    """

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, StoredValue]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Value:
        value = self._values[key]
        if not isinstance(value, Text):
            return value
        try:
            return value.decode()
        except GGUFError as error:
            raise GGUFError(f"the key {key!r}: {error}") from None

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def string(self, key: str) -> str | None:
        """A string."""
        value = self.get(key)
        if value is None or isinstance(value, str):
            return value
        raise _other_type(key, value, "a string")

    def strings(self, key: str) -> Sequence[str] | None:
        """An array of strings; they are decoded when they are asked for."""
        value = self.get(key)
        if value is None or isinstance(value, StringArray):
            return value
        raise _other_type(key, value, "an array of strings")

    def flag(self, key: str) -> bool | None:
        """A bool."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise _other_type(key, value, "a bool")

    def number(self, key: str) -> float | None:
        """A number. One of 32 bits is given exactly: 0.1 comes as 0.10000000149011612."""
        value = self.get(key)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise _other_type(key, value, "a number")

    def uint(self, key: str) -> int | None:
        """An integer, zero or more, whatever its width."""
        value = self.get(key)
        if value is None or _is_uint(value):
            return value
        raise _other_type(key, value, "an integer, zero or more")

    def uints(self, key: str) -> Sequence[int] | None:
        """An array of integers, zero or more; one integer alone comes as a tuple.

        Many keys have either form: one value for all layers, or one for each.
        """
        value = self.get(key)
        if value is None:
            return None
        if _is_uint(value):
            return (value,)
        if isinstance(value, memoryview) and (
            value.format in "BHIQ" or (value.format in "bhiq" and min(value, default=0) >= 0)
        ):
            return value
        raise _other_type(key, value, "integers, zero or more")


def read_metadata(cursor: Cursor, count: int) -> Metadata:
    """Reads `count` keys with their values. Raises GGUFError, with the key, at the first fault."""
    values: dict[str, StoredValue] = {}
    reader = ValueReader(cursor)
    for index in range(count):
        try:
            key = cursor.name("a key", MAX_KEY_BYTES, "ASCII")
        except GGUFError as error:
            raise GGUFError(f"key {index + 1} of {count}: {error}") from None
        if key in values:
            raise GGUFError(f"the key {key!r} is there twice")
        try:
            values[key] = reader.read(UINT32 if key == ALIGNMENT else None)
        except GGUFError as error:
            raise GGUFError(f"the key {key!r}: {error}") from None
    return Metadata(values)


def _is_uint(value: Value) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _other_type(key: str, value: Value, wanted: str) -> GGUFError:
    if isinstance(value, StringArray | memoryview):
        found = f"an array of {len(value)}"
    elif isinstance(value, str):
        found = f"the string {value[:40]!r}"
    else:
        found = repr(value)
    return GGUFError(f"the key {key!r} has to be {wanted}, and is {found}")
