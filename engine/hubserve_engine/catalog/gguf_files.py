"""GGUF files by their names: which belong together, what their quantization is, which is meant."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from hubserve_engine.errors import ResolveError

PREFERRED = "Q4_K_M"
"""What is taken where nothing is asked for: the usual balance of size and quality."""

_PART = re.compile(r"(?P<prefix>.*)-(?P<index>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_QUANTIZATION = re.compile(
    r"(?<![A-Z0-9])"
    r"(?:UD-)?(?:I?Q\d(?:_(?:K|NL|XXS|XS|S|M|L|XL|XXL|[0148]))+|BF16|FP?16|FP?32|"
    r"MXFP4(?:_MOE)?|NVFP4|TQ\d_0)"
    r"(?![A-Z0-9])"
)
# Other files that come with a model and are no model.
_COMPANION = re.compile(r"(?:^|[-_.])(?:mmproj|imatrix)(?:[-_.]|$)", re.IGNORECASE)
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model as its file names tell: all its parts, first one first, and its quantization.

    `missing` names the parts of a split model that are not among the files.
    """

    files: tuple[str, ...]
    quantization: str | None
    missing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The path of the first file."""
        return self.files[0]


def quantization_of(path: str) -> str | None:
    """The quantization that a path names, in capitals; None if it names none.

    The file's own name is asked before the folders above it.
    """
    for part in reversed(path.upper().split("/")):
        if found := _QUANTIZATION.findall(part):
            return _normal(str(found[-1]))
    return None


def candidates(files: Iterable[str]) -> list[Candidate]:
    """The models among these paths, by name. Projectors and importance matrices are left out."""
    models = sorted(name for name in files if name.lower().endswith(".gguf"))
    groups: dict[tuple[str, int], dict[int, str]] = {}
    for name in models:
        if _COMPANION.search(name.rsplit("/", 1)[-1]):
            continue
        match = _PART.fullmatch(name)
        if match and 0 < int(match["index"]) <= int(match["count"]):
            key = match["prefix"], int(match["count"])
            groups.setdefault(key, {})[int(match["index"])] = name
        else:
            groups[name, 0] = {1: name}
    return [_candidate(prefix, count, parts) for (prefix, count), parts in groups.items()]


def _candidate(prefix: str, count: int, parts: dict[int, str]) -> Candidate:
    missing = [f"{prefix}-{i:05}-of-{count:05}.gguf" for i in range(1, count + 1) if i not in parts]
    names = tuple(parts[index] for index in sorted(parts))
    return Candidate(names, quantization_of(names[0]), tuple(missing))


def pick(files: Iterable[str], wanted: str | None, place: str) -> Candidate:
    """The model that is meant by `wanted`: a path, a quantization, or None for the usual one.

    `place` is how the id begins, and is used in messages. Any part of a split model stands for all
    of it. Raises ResolveError, with what is there, where nothing or more than one thing is meant.
    """
    files = list(files)
    models = candidates(files)
    if wanted is None:
        chosen = _usual(models, place)
    elif wanted.lower().endswith(".gguf"):
        chosen = _by_path(files, models, wanted, place)
    elif wanted in files:
        raise ResolveError(
            f"{wanted!r} of {place!r} is no GGUF file; there is:"
            f" {_listing([model.name for model in models]) or 'no GGUF model'}.",
            param="model",
        )
    else:
        chosen = _by_quantization(models, wanted, place)
    if chosen.missing:
        raise ResolveError(
            f"{place!r} has only some parts of {chosen.name!r}: {_listing(chosen.missing)} is"
            " missing.",
            param="model",
        )
    return chosen


def describe(models: Iterable[Candidate]) -> str:
    """What there is to choose from: quantizations where they tell the models apart, else files."""
    models = list(models)
    labels = [model.quantization for model in models]
    if None in labels or len(set(labels)) < len(labels):
        return _listing([model.name for model in models])
    return _listing([str(label) for label in labels])


def _usual(models: list[Candidate], place: str) -> Candidate:
    if not models:
        raise ResolveError(f"{place!r} has no GGUF model.", param="model")
    # A whole model before one that lacks parts, whatever its quantization.
    best = min(models, key=lambda m: (bool(m.missing), _distance(m.quantization), m.name))
    rivals = [model.name for model in models if model.quantization == best.quantization]
    if len(rivals) > 1:
        alike = f" in {best.quantization}" if best.quantization else ""
        raise ResolveError(
            f"{place!r} has {len(rivals)} models{alike} to choose from; name one of the files:"
            f" {_listing(rivals)}.",
            param="model",
        )
    return best


def _by_path(files: list[str], models: list[Candidate], wanted: str, place: str) -> Candidate:
    for model in models:
        if wanted in model.files:
            return model
    if wanted in files:
        # No model by its name; the file itself has to say what it is.
        return Candidate((wanted,), quantization_of(wanted))
    names = [model.name for model in models]
    # A part that is missing names its model too.
    for model in models:
        if wanted in model.missing:
            return model
    raise ResolveError(
        f"{place!r} has no file {wanted!r}{_suggestion(wanted, names)};"
        f" there is: {_listing(names) or 'no GGUF model'}.",
        param="model",
    )


def _by_quantization(models: list[Candidate], wanted: str, place: str) -> Candidate:
    tag = _normal(wanted.upper())
    exact = [model for model in models if model.quantization == tag]
    found = exact or [model for model in models if model.quantization == f"UD-{tag}"]
    if len(found) == 1:
        return found[0]
    if found:
        raise ResolveError(
            f"{place!r} has {len(found)} models with {wanted!r}; name one of the files:"
            f" {_listing([model.name for model in found])}.",
            param="model",
        )
    labels = sorted({m.quantization for m in models if m.quantization})
    raise ResolveError(
        f"{place!r} has no {wanted!r}{_suggestion(tag, labels)};"
        f" there is: {describe(models) or 'no GGUF model'}.",
        param="model",
    )


def _normal(label: str) -> str:
    return label.replace("FP16", "F16").replace("FP32", "F32")


def _suggestion(wanted: str, names: list[str]) -> str:
    near = get_close_matches(wanted, names, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _listing(names: Iterable[str]) -> str:
    names = [name if name.isprintable() else repr(name) for name in names]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _distance(label: str | None) -> tuple[float, int, int]:
    """How far a quantization is from the preferred one; at the same distance more bits win."""
    if label is None:
        return (99.0, 0, 0)
    plain = label.removeprefix("UD-")
    if plain == PREFERRED:
        return (0.0, 0, len(label))
    digits = re.search(r"\d+", plain)
    bits = float(digits.group()) if digits else 99.0
    kinds = ("_K_M", "_K_XL", "_K_L", "_K_S", "_K", "_0", "_1")
    kind = next((i for i, ending in enumerate(kinds) if plain.endswith(ending)), len(kinds))
    return (0.5 + abs(bits - 4) - (0.1 if bits > 4 else 0.0), kind + 8 * plain.startswith("IQ"), 0)
