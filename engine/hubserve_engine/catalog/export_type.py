"""What a checkpoint is to be exported to, by what was named with it and by an option."""

from difflib import get_close_matches

from hubserve_engine.errors import ResolveError


def export_type(place: str, wanted: str | None, asked: str | None, option: str) -> str | None:
    """The type in small letters, as `GGUFExportConfig.dtype` has it; None if none was named.

    `wanted` is what stood behind the colon of the checkpoint `place`, `asked` the value of the
    `option`. Raises ResolveError for what is no type, and where the two differ.
    """
    problem = f"{wanted!r} is no type that the checkpoint {place!r} can be exported to"
    named = _known(wanted, problem)
    given = _known(asked, f"{option} {asked!r} is no type to export to")
    if named and given and named != given:
        raise ResolveError(
            f"'{place}:{wanted}' names the type {named}, and {option} names {given}: leave one of"
            " them out.",
            param="model",
        )
    return named or given


def servable(type_: str | None) -> str | None:
    """The type, unless it needs what `serve` has not, an importance matrix. Raises ResolveError."""
    from hubserve_exporters.quantize import SCHEMES

    if type_ in SCHEMES and SCHEMES[type_].needs_importance:
        raise ResolveError(
            f"{type_} needs an importance matrix: make the file with `hubserve export --type"
            f" {type_} --imatrix FILE` and serve that, or choose a type such as q4_k_m.",
            param="model",
        )
    return type_


def _known(text: str | None, problem: str) -> str | None:
    # What it imports is for those who serve checkpoints.
    from hubserve_exporters.quantize import TYPE_NAMES

    if text is None or text.lower() in TYPE_NAMES:
        return text and text.lower()
    near = get_close_matches(text.lower(), TYPE_NAMES, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise ResolveError(f"{problem}{meant}; types are {', '.join(TYPE_NAMES)}.", param="model")
