"""How single fields are read: a type, a range, and one sentence when either is wrong.

JSON's true is no number here, 5.0 is a whole one, and null is the same as absent.
"""

from collections.abc import Callable
from math import isfinite
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator
from pydantic_core import PydanticCustomError

UNSUPPORTED = "unsupported"
"""The type of an error about something that is understood, but cannot be done here."""


class Wire(BaseModel):
    """Base of everything that comes in."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


Body = TypeVar("Body", bound=Wire)


def wrong(expectation: str, value: object) -> PydanticCustomError:
    """The error for a value that is not what `expectation` says ("must be ...")."""
    context = {"expectation": expectation, "value": shown(value)}
    return PydanticCustomError("value", "{expectation}, not {value}", context)


def unsupported(explanation: str) -> PydanticCustomError:
    return PydanticCustomError(UNSUPPORTED, "{explanation}", {"explanation": explanation})


def shown(value: object) -> str:
    """A value as it looked in the JSON, short enough for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(value, list | tuple):
        return "an array" if value else "an empty array"
    return "an object"


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether it is a whole number, of any size; one may be written as a float."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def real(low: float, high: float) -> Callable[[Any], float | None]:
    """A number from `low` to `high`, both included."""

    def read(value: Any) -> float | None:
        if value is None:
            return None
        if not is_number(value) or not low <= value <= high:
            raise wrong(f"must be a number from {low:g} to {high:g}", value)
        return float(value)

    return read


def whole(low: int | None = None, high: int | None = None) -> Callable[[Any], int | None]:
    """A whole number from `low` to `high`, both included; None is no bound."""
    if low is None:
        bounds = ""
    elif high is None:
        bounds = f" of at least {low}"
    else:
        bounds = f" from {low} to {high}"

    def read(value: Any) -> int | None:
        if value is None:
            return None
        if not is_whole(value):
            raise wrong(f"must be a whole number{bounds}", value)
        if (low is not None and value < low) or (high is not None and value > high):
            raise wrong(f"must be a whole number{bounds}", value)
        return int(value)

    return read


def flag(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise wrong("must be true or false", value)


def text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise wrong("must be a string", value)


def mapping(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    raise wrong("must be an object", value)


def template_value(value: Any, what: str = "") -> None:
    """Refuses JSON for the chat template with a number that is infinite, or beyond 64 bits.

    `what` says which part of the field the value is.
    """
    if (number := unsendable(value)) is not None:
        raise wrong(f"must hold numbers of at most 64 bits{what}", number)


def unsendable(value: Any) -> int | float | None:
    """A number in this JSON that is none, infinite, or an integer beyond the 64 bits that are
    sent on. A float may be as large as floats are: schemas name such limits."""
    open_values = [value]
    while open_values:
        match open_values.pop():
            case dict() as fields:
                open_values.extend(fields.values())
            case list() as items:
                open_values.extend(items)
            case int() as number if not -(2**63) <= number < 2**64:
                return number
            case float() as number if not isfinite(number):
                return number
    return None


def template_arguments(value: Any) -> dict[str, Any] | None:
    template_value(value)
    return mapping(value)


Flag = Annotated[bool | None, PlainValidator(flag)]
Text = Annotated[str | None, PlainValidator(text)]
Mapping = Annotated[dict[str, Any] | None, PlainValidator(mapping)]
