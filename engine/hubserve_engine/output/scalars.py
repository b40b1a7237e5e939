"""Words and numbers that stand without quotes, as JSON, in a type that a schema wants."""

import re

from hubserve_engine.output.shape import compact

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "none": "null",
    "undefined": "null",
    "nan": "null",
}


def text_as_scalar(text: str, types: frozenset[str] | None) -> str:
    """The JSON for a value that stands as plain text.

    A string stays a string wherever one is allowed. Where the schema says nothing, a text that is a
    number or a literal of JSON is one.
    """
    bare = text.strip()
    if types is None:
        sound = _NUMBER.fullmatch(bare) or bare in ("true", "false", "null")
        return bare if sound else compact(text)
    word = _LITERALS.get(bare.lower())
    if word == "null" and ("null" in types or "string" not in types):
        return word
    if "string" in types:
        return compact(text)
    if word in ("true", "false") and "boolean" in types:
        return word
    number = _number(bare, types) if types & {"integer", "number"} else None
    return number or compact(text)


def word_as_scalar(word: str, types: frozenset[str] | None) -> str:
    """The JSON for a word without quotes in JSON that a model wrote."""
    sound = _LITERALS.get(word.lower())
    if sound is None and _NUMBER.fullmatch(word):
        sound = word
    if types is not None and types <= {"string", "null"} and sound not in (None, "null"):
        return compact(word)
    if sound is not None and types is not None and sound[0] not in "tfn":
        return _number(sound, types) or sound
    return sound if sound is not None else compact(word)


def _number(text: str, types: frozenset[str]) -> str | None:
    text = text.removeprefix("+")
    if not _NUMBER.fullmatch(text):
        return None
    whole = re.sub(r"\.0+$", "", text)
    return whole if "number" not in types else text
