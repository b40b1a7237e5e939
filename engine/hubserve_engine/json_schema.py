"""What a JSON Schema says, as far as both grammars and the reading of calls have to know it."""

import json
from typing import Any
from urllib.parse import unquote

Schema = dict[str, Any]

TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))
_MOST = 16  # references that lead to references


def json_type(value: Any) -> str:
    """One of the six types of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def schema_type(value: Any) -> str:
    """The type of JSON Schema, to which a whole number is an integer, however it is written."""
    kind = json_type(value)
    return "integer" if kind == "number" and value % 1 == 0 else kind


def written(value: Any) -> str:
    """JSON of a value, the same for values that are equal to JSON Schema: 1 and 1.0 are."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def resolved(schema: Any, root: Any) -> Any:
    """The schema, or what its `$ref` leads to within `root`; {} where that is unknown."""
    for _ in range(_MOST):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str):
            return schema
        schema = _referenced(root, reference)
    return {}


def _referenced(root: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        return {}
    found = root
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = {str(index): each for index, each in enumerate(found)}
        if not isinstance(found, dict) or name not in found:
            return {}
        found = found[name]
    return found
