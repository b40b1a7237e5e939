"""Whether the arguments of a call fit the schema of its tool, in bounded time."""

import json
import logging
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from hubserve_engine.json_schema import written
from hubserve_engine.output.bounded_pattern import MOST, found, steps

logger = logging.getLogger(__name__)

_STRICT = (
    "pattern",
    "patternProperties",
    "uniqueItems",
    "unevaluatedProperties",
    "unevaluatedItems",
)
"""Keywords too strict for what is only a guess that something is a call."""
_MOST_LOOKS = 5000
"""Keywords that are looked at in one validation. Schemas within schemas can be any number."""
_STEPS_A_LOOK = 100
_VALUES_A_LOOK = 16
_Check = Callable[[Any, Any, Any, Any], Any]


class _TooLong(Exception):
    """A validation has taken all the looks that it may."""


class Fit:
    """Of one schema, the client's own. For one thread."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._looks = 0

    def guessed(self, arguments: Any) -> bool:
        """Whether what may be a call is one, for all that its arguments are."""
        return self._wrong(lambda: self._lenient, arguments) is None

    def misfit(self, arguments: Any) -> str | None:
        """The keyword that the arguments do not fit, and their place; None where they do."""
        return self._wrong(lambda: self._complete, arguments)

    def _wrong(self, validator: Callable[[], Any], arguments: Any) -> str | None:
        if not isinstance(arguments, dict):
            return "'type' at ''"
        if not isinstance(self._schema, dict):
            return None
        self._looks = 0
        try:
            error = next(validator().iter_errors(arguments), None)
            if error is None:
                return None
            place = "".join(f"/{step}" for step in error.absolute_path)
            return f"{error.validator or 'false'!r} at {place!r}"
        except _TooLong:
            _say(json.dumps(self._schema))
            return None
        except Exception:  # a schema may be wrong in any way, endless, and refer to anything
            return None

    @cached_property
    def _lenient(self) -> Any:
        return self._validator(without=_STRICT)

    @cached_property
    def _complete(self) -> Any:
        # They look into these by themselves, and count nothing.
        hidden = ('"patternProperties"', '"dependentSchemas"')
        text = json.dumps(self._schema)
        return self._validator(without=_STRICT[3:] if any(h in text for h in hidden) else ())

    def _validator(self, *, without: tuple[str, ...]) -> Any:
        from jsonschema import Draft7Validator, Draft202012Validator, validators
        from referencing import Registry

        checks = {
            **Draft202012Validator.VALIDATORS,
            "dependencies": Draft7Validator.VALIDATORS["dependencies"],
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": self._unique_items,
        }
        del checks["format"]  # a note, where nothing else is agreed upon
        known = {
            keyword: self._counted(keyword, check)
            for keyword, check in checks.items()
            if keyword not in without
        }
        made = validators.create(Draft202012Validator.META_SCHEMA, known)
        # An empty registry, since references to other documents would be fetched.
        return made(self._schema, registry=Registry())

    def _counted(self, keyword: str, check: _Check) -> _Check:
        exclusive = keyword.startswith("exclusive")

        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._look(1 + (len(value) // _VALUES_A_LOOK if isinstance(value, list) else 0))
            if instance is None and schema.get("nullable") is True:
                return ()  # OpenAPI's word for it
            if exclusive and isinstance(value, bool):
                return ()  # the words of an older draft
            return check(validator, value, instance, schema)

        return counted

    def _look(self, count: int) -> None:
        self._looks += count
        if self._looks > _MOST_LOOKS:
            raise _TooLong

    def _found(self, pattern: str, text: str) -> bool:
        count = steps(pattern, text)
        # One that is not tried costs no more than that it was counted.
        spent = len(pattern) // _VALUES_A_LOOK if count > MOST else count // _STEPS_A_LOOK
        self._look(spent)
        return found(pattern, text)

    def _pattern(self, validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not self._found(value, instance):
            yield _error("the text does not match")

    def _pattern_properties(
        self, validator: Any, value: Any, instance: Any, _schema: Any
    ) -> Iterator[Any]:
        for name, each in instance.items() if isinstance(instance, dict) else ():
            for pattern, schema in value.items():
                if self._found(pattern, name):
                    yield from validator.descend(each, schema, path=name)

    def _additional_properties(
        self, validator: Any, value: Any, instance: Any, schema: Any
    ) -> Iterator[Any]:
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name, each in instance.items() if isinstance(instance, dict) else ():
            if name in named or any(self._found(pattern, name) for pattern in patterns):
                continue
            if value is False:
                yield _error("there is no such property")
            else:
                yield from validator.descend(each, value, path=name)

    def _unique_items(
        self, validator: Any, value: Any, instance: Any, _schema: Any
    ) -> Iterator[Any]:
        if value is True and isinstance(instance, list):
            self._look(len(instance) // _VALUES_A_LOOK)
            if len({written(each) for each in instance}) < len(instance):
                yield _error("an item comes twice")


@lru_cache(256)
def _say(schema: str) -> None:
    """Once for each schema."""
    logger.warning("arguments are not held to all of a schema that takes too long: %.100s", schema)


def _error(message: str) -> Exception:
    from jsonschema import ValidationError

    return ValidationError(message)
