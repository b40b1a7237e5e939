"""The tokens that are found in text before it is split, from all the files that name some.

transformers puts them together in the same way (5.22, `PreTrainedTokenizerBase._from_pretrained`):
tokenizer.json first, then what the other files have beyond it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hubserve_exporters.errors import ExportError

from .files import TOKENIZER, TOKENIZER_CONFIG, JsonObject, TokenizerFiles

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_ID = re.compile(r"[0-9]{1,10}")
_LISTS = ("additional_special_tokens", "extra_special_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedToken:
    """Found in text as it stands. `lstrip` and `rstrip` swallow white space beside it."""

    id: int
    text: str
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


def added_tokens(files: TokenizerFiles, ids: Mapping[str, int]) -> list[AddedToken]:
    """By id. `ids` are those of the vocabulary before anything is added.

    Raises ExportError where an entry is malformed, or where two texts claim one id.
    """
    found: dict[int, AddedToken] = {}
    listed = (files.tokenizer or {}).get("added_tokens") or []
    if not isinstance(listed, list):
        raise ExportError(f"{TOKENIZER}: 'added_tokens' is not a list.")
    for entry in listed:
        token = _token(entry, TOKENIZER)
        if token.id in found and found[token.id].text != token.text:
            raise ExportError(
                f"{TOKENIZER} gives the id {token.id} to {found[token.id].text!r} and to"
                f" {token.text!r}; take the file from the original checkpoint."
            )
        found[token.id] = token
    for token in _elsewhere(files):
        found.setdefault(token.id, token)
    by_text = {token.text: token.id for token in found.values()}
    for text in special_texts(files):
        id = by_text.get(text, ids.get(text))
        if id is not None:
            known = found.get(id, AddedToken(id=id, text=text))
            found[id] = replace(known, special=True)
    return [found[id] for id in sorted(found)]


def special_texts(files: TokenizerFiles) -> Iterator[str]:
    """Of all tokens that a file names for a purpose, or simply as special."""
    for source in (files.tokenizer_config, files.special_tokens):
        for name in NAMED:
            if text := text_of(source.get(name)):
                yield text
        for name in _LISTS:
            several = source.get(name)
            if isinstance(several, dict):
                several = list(several.values())
            for entry in several if isinstance(several, list) else ():
                if text := text_of(entry):
                    yield text


def text_of(entry: object) -> str | None:
    """A token is named by its text, or by an object that holds it as `content`."""
    match entry:
        case str(text) | {"content": str(text)}:
            return text
    return None


def _elsewhere(files: TokenizerFiles) -> Iterator[AddedToken]:
    decoder = files.tokenizer_config.get("added_tokens_decoder") or {}
    if not isinstance(decoder, dict):
        raise ExportError(f"{TOKENIZER_CONFIG}: 'added_tokens_decoder' is not an object.")
    for id, entry in decoder.items():
        if not isinstance(entry, dict) or not _ID.fullmatch(id):
            raise ExportError(
                f"{TOKENIZER_CONFIG}: 'added_tokens_decoder' has {id!r}: {entry!r:.60}; an id"
                " has to stand before each token."
            )
        yield _token({**entry, "id": int(id)}, TOKENIZER_CONFIG)
    for text, id in files.added_tokens.items():
        yield _token({"content": text, "id": id}, "added_tokens.json")


def _token(entry: object, file: str) -> AddedToken:
    match entry:
        case {"id": int(id), "content": str(text)} if isinstance(entry, dict) and id >= 0 and text:
            return AddedToken(
                id=id,
                text=text,
                special=bool(entry.get("special")),
                lstrip=bool(entry.get("lstrip")),
                rstrip=bool(entry.get("rstrip")),
                single_word=bool(entry.get("single_word")),
                normalized=bool(entry.get("normalized")),
            )
    raise ExportError(f"{file}: {entry!r:.80} is no added token; it needs an 'id' and a 'content'.")


def describe(token: AddedToken) -> JsonObject:
    """As it stands in tokenizer.json."""
    return {
        "id": token.id,
        "content": token.text,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }
