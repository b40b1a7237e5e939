"""Whether the tokenizer itself puts a token before or behind each text."""

from typing import Any

from hubserve_exporters.errors import ExportError

from .files import TOKENIZER, TOKENIZER_CONFIG, JsonObject, TokenizerFiles


def framing(files: TokenizerFiles, ids: dict[str, int], warnings: list[str]) -> dict[str, bool]:
    """The keys `add_bos_token` and `add_eos_token`, as far as a file says so.

    Where there is a tokenizer.json it alone says so, whatever the flags of tokenizer_config.json
    are: measured with every class of transformers 5.22. `ids` are the special ids by key; one that
    the tokenizer puts first becomes the BOS token if there is none.
    Raises ExportError for tokens that llama.cpp cannot be told to put there.
    """
    flags = {
        key: value
        for key in ("add_bos_token", "add_eos_token")
        if isinstance(value := files.tokenizer_config.get(key), bool)
    }
    if files.tokenizer is None:
        keys = flags
    else:
        keys = _template(files.tokenizer, ids)
        for key, told in flags.items():
            if told is not keys[key]:
                warnings.append(
                    f"{TOKENIZER_CONFIG} has {key} {str(told).lower()}, and {TOKENIZER} does"
                    " otherwise: the latter counts, as in transformers."
                )
    for key, purpose in (("add_bos_token", "bos_token_id"), ("add_eos_token", "eos_token_id")):
        if keys.get(key) and purpose not in ids:
            raise ExportError(
                f"{key} is true, and no file names that token: set {purpose.removesuffix('_id')!r}"
                f" in {TOKENIZER_CONFIG}."
            )
    return keys


def _template(tokenizer: JsonObject, ids: dict[str, int]) -> dict[str, bool]:
    before, behind = _frame(tokenizer.get("post_processor"))
    if len(before) == 1 and "bos_token_id" not in ids:
        ids["bos_token_id"] = before[0]
    bos, eos = [ids.get("bos_token_id")], [ids.get("eos_token_id")]
    if before not in ([], bos) or behind not in ([], eos):
        raise ExportError(
            f"{TOKENIZER} puts the tokens {before} before a text and {behind} behind it; llama.cpp"
            " can put the BOS and EOS tokens there alone."
        )
    return {"add_bos_token": before == bos, "add_eos_token": behind == eos}


def _frame(processor: Any) -> tuple[list[int], list[int]]:
    """The ids that are put before a single text, and behind it."""
    match processor:
        case {"type": "Sequence", "processors": list(steps)}:
            frames = [_frame(step) for step in steps]
            before, behind = ([id for f in frames for id in f[side]] for side in (0, 1))
            return before, behind
        case {"type": "TemplateProcessing", "single": list(parts), "special_tokens": dict(special)}:
            sides: tuple[list[int], list[int]] = ([], [])
            seen = False
            for part in parts:
                match part:
                    case {"Sequence": _}:
                        seen = True
                    case {"SpecialToken": {"id": str(name)}}:
                        sides[seen].extend(_ids(special.get(name)))
            return sides
    return [], []


def _ids(entry: object) -> list[int]:
    match entry:
        case {"ids": list(ids)} if all(type(id) is int for id in ids):
            return ids
    raise ExportError(f"{TOKENIZER}: the post_processor has {entry!r:.60} where a token has to be.")
