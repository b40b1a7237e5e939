"""What a request wants its answer to be, which clients say in one of ten fields."""

import json
from collections.abc import Iterator
from typing import Any

from hubserve_engine.errors import InvalidRequest, Unsupported
from hubserve_engine.types import Constraint, ConstraintKind
from hubserve_server.wire.fields import shown, unsendable
from hubserve_server.wire.sampling import Generating

_GUIDED: dict[str, ConstraintKind] = {
    "json": "json_schema",
    "regex": "regex",
    "choice": "choice",
    "grammar": "gbnf",
}
"""vLLM's words, within `structured_outputs` and behind `guided_`."""
_MANNERS = ("whitespace_pattern", "backend", "disable_fallback")
"""How vLLM is to go about it, which changes nothing of what is wanted."""
_ELSEWHERE = ("structural_tag", "disable_any_whitespace", "disable_additional_properties")


def constraint(wire: Generating) -> Constraint | None:
    """Raises `InvalidRequest` or `Unsupported`, with the field: also where two fields say it."""
    found = list(_constraints(wire))
    if len(found) > 1:
        first, second = found[0].param, found[1].param
        raise InvalidRequest(
            f"{first!r} and {second!r} both say what the answer has to be; leave one of them out.",
            param=second,
        )
    return found[0] if found else None


def _constraints(wire: Generating) -> Iterator[Constraint]:
    if wire.response_format is not None:
        yield from _response_format(wire.response_format)
    if not _is_unset(wire.json_schema):
        yield Constraint("json_schema", _schema(wire.json_schema, "json_schema"), "json_schema")
    if not _is_unset(wire.grammar):
        yield Constraint("gbnf", _text(wire.grammar, "grammar"), "grammar")
    for name in _GUIDED:
        param = f"guided_{name}"
        yield from _guided(name, getattr(wire, param), param)
    if wire.structured_outputs is not None:
        yield from _structured_outputs(wire.structured_outputs)


def _response_format(given: dict[str, Any]) -> Iterator[Constraint]:
    schema, param = given.get("schema"), "response_format.schema"
    match given.get("type"):
        case None if schema is not None or given.get("json_schema") is not None:
            raise InvalidRequest(
                "'response_format' has a schema but no 'type'; it must be 'json_schema'.",
                param="response_format.type",
            )
        case "text" | None:
            return
        case "json_object" if schema is None:
            yield Constraint("json_object", None, "response_format")
        case "json_object":
            # llama-server takes a schema here.
            yield Constraint("json_schema", _schema(schema, param), param)
        case "json_schema":
            if isinstance(inner := given.get("json_schema"), dict):
                schema, param = inner.get("schema"), "response_format.json_schema.schema"
            if schema is None:
                raise InvalidRequest(
                    "'response_format' of the type 'json_schema' needs a schema, in"
                    " 'json_schema.schema'.",
                    param="response_format.json_schema",
                )
            yield Constraint("json_schema", _schema(schema, param), param)
        case kind:
            raise Unsupported(
                "'response_format.type' must be 'text', 'json_object' or 'json_schema', not"
                f" {shown(kind)}.",
                param="response_format.type",
            )


def _structured_outputs(given: dict[str, Any]) -> Iterator[Constraint]:
    for name in _ELSEWHERE:
        if given.get(name):
            param = f"structured_outputs.{name}"
            raise Unsupported(f"{param!r} is not possible on this server.", param=param)
    for name in _GUIDED:
        yield from _guided(name, given.get(name), f"structured_outputs.{name}")
    if given.get("json_object"):
        yield Constraint("json_object", None, "structured_outputs.json_object")
    for name in given.keys() - _GUIDED.keys() - {"json_object", *_ELSEWHERE, *_MANNERS}:
        # Most likely one of the others was meant.
        raise Unsupported(
            f"'structured_outputs' has {name[:60]!r}, which is not known; the constraints are"
            f" {', '.join(_GUIDED)} and json_object.",
            param="structured_outputs",
        )


def _guided(name: str, value: Any, param: str) -> Iterator[Constraint]:
    if _is_unset(value):
        return
    kind = _GUIDED[name]
    if kind == "json_schema":
        value = _schema(value, param)
    elif kind == "choice":
        value = _choices(value, param)
    else:
        value = _text(value, param)
    yield Constraint(kind, value, param)


def _schema(value: Any, param: str) -> Any:
    """A schema, which may come as the text of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"{param!r} is not JSON: {error}.", param=param) from error
    if not isinstance(value, dict | bool):
        message = f"{param!r} must be a JSON Schema: an object, not {shown(value)}."
        raise InvalidRequest(message, param=param)
    if (number := unsendable(value)) is not None:
        message = f"{param!r} must hold numbers of at most 64 bits, not {shown(number)}."
        raise InvalidRequest(message, param=param)
    return value


def _choices(value: Any, param: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidRequest(f"{param!r} must be an array of strings.", param=param)
    if not value:
        raise InvalidRequest(f"{param!r} is empty; give at least one string.", param=param)
    return tuple(value)


def _text(value: Any, param: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{param!r} must be a string, not {shown(value)}.", param=param)
    return value


def _is_unset(value: Any) -> bool:
    return value is None or value == ""
