"""Which of llama.cpp's pre-tokenizers splits text as a byte-level tokenizer.json does.

Found by what the file says, not by trying: two tokenizers can agree on any one text. A name that
is found, or given, is proven afterwards (`compare`).
"""

import hashlib
import json
from difflib import get_close_matches
from typing import Any

from hubserve_exporters.errors import ExportError

from .files import TOKENIZER, JsonObject
from .patterns import DIGIT, GPT2, NAMES, SPLITTINGS, Splitting

_SHOWN = 400


def find_pre_tokenizer(tokenizer: JsonObject) -> str:
    """Raises ExportError, with what the file says and what to do, where there is none."""
    patterns = _patterns(tokenizer.get("pre_tokenizer"))
    model = tokenizer["model"]
    if patterns is not None:
        wanted = Splitting(patterns, ignore_merges=bool(model.get("ignore_merges")))
        same = [name for name, known in SPLITTINGS.items() if known.patterns == wanted.patterns]
        for name in same:
            if SPLITTINGS[name] == wanted:
                return name
        if same and _merges_make_every_token(model):
            return same[0]
    raise ExportError(_unknown(tokenizer))


def check_name(name: str) -> str:
    """A name that a user gave. Raises ExportError if llama.cpp does not know it."""
    if name in NAMES:
        return name
    near = get_close_matches(name, NAMES, n=3)
    raise ExportError(
        f"llama.cpp has no pre-tokenizer {name!r}; "
        + (f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(NAMES))}.")
    )


def _patterns(pre_tokenizer: object) -> tuple[str, ...] | None:
    """What it splits by, in order; None where a step is of another kind."""
    steps = _flat(pre_tokenizer)
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space", True):
        return None
    found: list[str] = []
    for step in steps[:-1]:
        pattern = _pattern(step)
        if pattern is None:
            return None
        found.append(pattern)
    return (*found, GPT2) if steps[-1].get("use_regex", True) else tuple(found)


def _pattern(step: JsonObject) -> str | None:
    match step:
        case {"type": "Digits", "individual_digits": bool(individual)}:
            return DIGIT if individual else rf"{DIGIT}+"
        case {"type": "Split", "pattern": {"Regex": str(regex)}}:
            # To drop what lies between matches of a pattern that matches all is to isolate them.
            kind = step.get("behavior"), step.get("invert")
            regex = regex.replace("\r", r"\r").replace("\n", r"\n")  # some write the characters
            return regex if kind in (("Isolated", False), ("Removed", True)) else None
    return None


def _flat(pre_tokenizer: object) -> list[dict[str, Any]]:
    match pre_tokenizer:
        case {"type": "Sequence", "pretokenizers": list(steps)}:
            return [inner for step in steps for inner in _flat(step)]
        case dict():
            return [pre_tokenizer]
    return []


def _merges_make_every_token(model: JsonObject) -> bool:
    """Whether `ignore_merges` makes no difference: what it takes whole, the merges make whole.

    Encodes the vocabulary once, which takes seconds.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import BPE

    from .byte_level import merge_pairs

    bare = Tokenizer(BPE(dict(model["vocab"]), merge_pairs(model)))
    tokens = list(model["vocab"])
    return all(len(encoding.ids) == 1 for encoding in bare.encode_batch(tokens))


def _unknown(tokenizer: JsonObject) -> str:
    said = json.dumps(tokenizer.get("pre_tokenizer"), ensure_ascii=False)
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
    flag = ", with ignore_merges" if tokenizer["model"].get("ignore_merges") else ""
    return (
        f"No pre-tokenizer of llama.cpp is known to split text as {TOKENIZER} does: {shown}{flag}"
        f" (sha256 {digest[:16]}). If llama.cpp has one for this model, name it with --pre; the"
        " file is compared with the original all the same."
    )
