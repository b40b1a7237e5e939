"""`config.json` as it stands, with each value asked for by its type."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, TypeGuard

from hubserve_exporters.errors import ExportError

_LARGEST = 3.4e38


class Config:
    """The configuration of a checkpoint, or a part of it.

    What is asked for by type is checked: a value of another type raises ExportError with the key
    and the value. A key that is missing, or null, gives the default; without one it is an error.
    """

    def __init__(self, values: Mapping[str, Any], place: str = "config.json") -> None:
        self.values = values
        self._place = place

    def over(self, defaults: Mapping[str, Any]) -> "Config":
        """The same, with keys that it does not have from `defaults`; null is a value here."""
        return Config({**defaults, **self.values}, self._place)

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number from 0 to 2^31 - 1."""
        value = self._value(key, default)
        if type(value) is not int or not 0 <= value < 2**31:
            raise self._wrong(key, value, "a whole number, zero or more")
        return value

    def positive(self, key: str, default: int | None = None) -> int:
        """A whole number from 1 to 2^31 - 1."""
        value = self.integer(key, default)
        if not value:
            raise self._wrong(key, value, "at least 1")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number that 32 bits can hold."""
        value = self._value(key, default)
        if not is_number(value) or abs(value) > _LARGEST:
            raise self._wrong(key, value, "a number")
        return float(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        value = self._value(key, default)
        if type(value) is not bool:
            raise self._wrong(key, value, "true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if type(value) is not str:
            raise self._wrong(key, value, "a string")
        return value

    def texts(self, key: str, default: Sequence[str] | None = None) -> Sequence[str]:
        """A list of strings."""
        return self._list(key, default, str, "a list of strings")

    def integers(self, key: str, default: Sequence[int] | None = None) -> Sequence[int]:
        """A list of whole numbers."""
        return self._list(key, default, int, "a list of whole numbers")

    def numbers(self, key: str, default: Sequence[float] | None = None) -> Sequence[float]:
        """A list of numbers."""
        values = self._list(key, default, (int, float), "a list of numbers")
        if not all(is_number(value) for value in values):
            raise self._wrong(key, values, "a list of numbers")
        return [float(value) for value in values]

    def part(self, key: str) -> "Config | None":
        """An object inside this one; None if there is none."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "an object")
        return Config(value, f"{self._place}: {key}")

    def _list(
        self, key: str, default: Sequence[Any] | None, kind: type | tuple[type, ...], wanted: str
    ) -> Sequence[Any]:
        value = self._value(key, default)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self._wrong(key, value, wanted)
        if not all(isinstance(item, kind) and not isinstance(item, bool) for item in value):
            raise self._wrong(key, value, wanted)
        return value

    def _value(self, key: str, default: Any) -> Any:
        value = self.values.get(key)
        if value is not None:
            return value
        if default is None:
            raise ExportError(
                f"{self._place} has no {key!r}, which is needed; take the file from the original"
                " checkpoint, or add the value."
            )
        return default

    def _wrong(self, key: str, value: object, wanted: str) -> ExportError:
        shown = repr(value)
        if len(shown) > 60:
            shown = f"{shown[:60]}…"
        return ExportError(f"{self._place}: {key!r} is {shown}; it has to be {wanted}.")


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number that a float can be."""
    try:
        return isinstance(value, int | float) and type(value) is not bool and isfinite(value)
    except OverflowError:
        return False


def merged(raw: Mapping[str, Any]) -> Config:
    """What describes the language model: config.json, its `text_config` over the rest of it."""
    text = Config(raw).part("text_config")
    return Config({**raw, **text.values} if text else raw)
