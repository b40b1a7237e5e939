"""What llama.cpp does otherwise than a tokenizer.json says, whatever the file is told.

These few points are named to the user, and everything beside them has to be equal: `as_run` is the
tokenizer with nothing but them changed, which the written file is compared with. Found by reading
src/llama-vocab.cpp and src/llama-vocab.cpp's callers (llama-cpp-python 0.3.36), each shown by a
test.
"""

import copy
from collections.abc import Sequence
from typing import Any

from hubserve_exporters.errors import AS_IT_IS, ExportError

from .added_tokens import AddedToken, describe
from .files import TOKENIZER, JsonObject
from .vocabulary import SPACE

_PREPEND = {"type": "Prepend", "prepend": SPACE}
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_SPLIT_SPACES = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
_STRIPS = ("lstrip", "rstrip", "single_word")


def prefixes_space(tokenizer: JsonObject) -> bool:
    """Whether a space is put before text. Raises ExportError if text is changed in another way."""
    return _spaces(tokenizer)[0]


def as_run(
    tokenizer: JsonObject, added: Sequence[AddedToken], *, strips: bool = False
) -> tuple[JsonObject, list[str]]:
    """The tokenizer as llama.cpp runs it, and a sentence for each point where that is another.

    `strips` says that white space beside added tokens is swallowed as they want it.
    Raises ExportError where more would have to be changed than is known.
    """
    run: dict[str, Any] = copy.copy(dict(tokenizer))
    notes = []
    if tokenizer["model"].get("byte_fallback"):
        prefix, scheme = _spaces(tokenizer)
        run["normalizer"] = {
            "type": "Sequence",
            "normalizers": [_PREPEND, _REPLACE] if prefix else [_REPLACE],
        }
        run["pre_tokenizer"] = None
        if scheme is not None:
            notes.append(
                "llama.cpp puts a space before the text after every special token; this tokenizer"
                f" does so {scheme}."
            )
    elif tokenizer.get("normalizer") is not None:
        _check_normalizer(tokenizer["normalizer"])
        run["normalizer"] = None
        notes.append(
            "llama.cpp takes characters as they come; this tokenizer composes them first (NFC)."
            " Text that is in this form already, as nearly all is, makes the same tokens."
        )
    described = [dict(describe(token)) for token in added]
    if not strips and any(token[name] for token in described for name in _STRIPS):
        first = next(t["content"] for t in described if any(t[name] for name in _STRIPS))
        notes.append(
            f"llama.cpp keeps white space beside special tokens; this tokenizer drops it beside"
            f" {first!r} or wants a border of a word there."
        )
        described = [token | dict.fromkeys(_STRIPS, False) for token in described]
    run["added_tokens"] = described
    run["truncation"] = run["padding"] = None
    return run, notes


def _spaces(tokenizer: JsonObject) -> tuple[bool, str | None]:
    """Whether a space is put first, and how that differs from what llama.cpp does."""
    normalizers = _flat(tokenizer.get("normalizer"), "normalizers")
    steps = _flat(tokenizer.get("pre_tokenizer"), "pretokenizers")
    match normalizers, steps:
        case [prepend, replace], [] if (prepend, replace) == (_PREPEND, _REPLACE):
            return True, None
        case [replace], [] if replace == _REPLACE:
            return False, None
        case [replace], [split] if (replace, split) == (_REPLACE, _SPLIT_SPACES):
            return False, None
        case [], [{"type": "Metaspace", "replacement": replacement}] if replacement == SPACE:
            match steps[0].get("prepend_scheme", "always"):
                case "never":
                    return False, None
                case "first":
                    return True, "once, at the start of the whole text, unless it begins with one"
                case "always":
                    return True, "unless the text begins with one"
    raise ExportError(
        f"{TOKENIZER} changes text before it looks for pieces in a way that llama.cpp has not:"
        f" normalizer {tokenizer.get('normalizer')!r:.120}, pre_tokenizer"
        f" {tokenizer.get('pre_tokenizer')!r:.120}. {AS_IT_IS}"
    )


def _check_normalizer(normalizer: object) -> None:
    for step in _flat(normalizer, "normalizers"):
        if step.get("type") != "NFC":
            raise ExportError(
                f"{TOKENIZER} changes text by the normalizer {step.get('type')!r}; llama.cpp has"
                f" none for this kind of tokenizer. {AS_IT_IS}"
            )


def _flat(steps: object, members: str) -> list[dict[str, Any]]:
    match steps:
        case {"type": "Sequence"} if isinstance(steps, dict):
            inside = steps.get(members)
            several = inside if isinstance(inside, list) else []
            return [inner for step in several for inner in _flat(step, members)]
        case dict():
            return [steps]
    return []
