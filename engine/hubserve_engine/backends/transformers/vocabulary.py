"""A fast tokenizer of transformers as text -> tokens, and each token -> its bytes.

How a token's text is spelled in the vocabulary is read from the tokenizer's own decoder (the
"decoder" of tokenizer.json): "ByteLevel" writes each byte as a character of GPT-2's table; the
others write a space as "▁", and with "ByteFallback" bytes that have no token as `<0xAB>`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


class Vocabulary:
    """`size` is the number of tokens that can be had as text. Any thread may call the methods."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        plain: Tokenizer = tokenizer.backend_tokenizer
        described = plain.to_str()
        self._parsing: Tokenizer = Tokenizer.from_str(described)
        self._plain: Tokenizer = Tokenizer.from_str(described)
        self._plain.encode_special_tokens = True
        for each in (self._parsing, self._plain):
            each.no_padding()
            each.no_truncation()
        self._spelling = _Spelling(json.loads(described).get("decoder"))
        self._added = {token: str(added) for token, added in _added(plain).items()}
        self._control = frozenset(t for t, added in _added(plain).items() if added.special)
        self._pieces: dict[int, bytes] = {}
        self.size = max(plain.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self.bos = _text(tokenizer.bos_token)
        self.eos = _text(tokenizer.eos_token)
        self.chat_template = _template(tokenizer.chat_template)

    @property
    def special_tokens(self) -> frozenset[str]:
        """Texts of the tokens that were added to the vocabulary: control tokens, and tags."""
        return frozenset(self._added.values())

    def token(self, text: str) -> int | None:
        """The token with this spelling."""
        found: int | None = self._parsing.token_to_id(text)
        return found

    @cached_property
    def longest_piece(self) -> int:
        """In bytes."""
        return max(len(self.piece(token, special=True)) for token in range(self.size))

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        # A lone surrogate has no UTF-8 form; it becomes a question mark, as in any encoder.
        sound = text.encode("utf-8", "replace").decode()
        tokenizer = self._parsing if parse_special else self._plain
        tokens: list[int] = tokenizer.encode(sound, add_special_tokens=add_special).ids
        return tokens

    def piece(self, token: int, *, special: bool = False) -> bytes:
        if token in self._control and not special:
            return b""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._read_piece(token)
        return known

    def _read_piece(self, token: int) -> bytes:
        if token in self._added:
            return self._added[token].encode()
        text = self._parsing.id_to_token(token)
        return self._spelling.read(text) if text is not None else b""


class _Spelling:
    def __init__(self, decoder: Mapping[str, Any] | None) -> None:
        steps = list(_steps(decoder))
        kinds = {step["type"] for step in steps}
        self._by_level = "ByteLevel" in kinds
        self._falls_back = "ByteFallback" in kinds
        self._replaced = [pair for step in steps for pair in _replacements(step)]

    def read(self, text: str) -> bytes:
        """The bytes that a token stands for."""
        if self._by_level:
            # A character that is in no byte-level table is itself.
            return b"".join(_BYTES.get(c, c.encode("utf-8", "replace")) for c in text)
        if self._falls_back and (found := _BYTE.fullmatch(text)):
            return bytes((int(found[1], 16),))
        for old, new in self._replaced:
            text = text.replace(old, new)
        return text.encode("utf-8", "replace")


def _steps(decoder: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """The decoder, or what it consists of."""
    if decoder is None:
        return
    if decoder["type"] == "Sequence":
        for step in decoder["decoders"]:
            yield from _steps(step)
    else:
        yield decoder


def _replacements(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if step["type"] == "Replace" and "String" in step["pattern"]:
        yield step["pattern"]["String"], step["content"]
    elif step["type"] == "Metaspace":
        yield step["replacement"], " "


def _byte_characters() -> Iterator[tuple[str, bytes]]:
    """Printable Latin-1 stands for itself; the other bytes, in their order, take 256 and upwards
    (`bytes_to_unicode` of GPT-2)."""
    shown = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in shown]
    for byte in range(256):
        yield chr(byte if byte in shown else 256 + hidden.index(byte)), bytes((byte,))


_BYTES = dict(_byte_characters())


def _added(tokenizer: Tokenizer) -> Mapping[int, Any]:
    decoder: Mapping[int, Any] = tokenizer.get_added_tokens_decoder()
    return decoder


def _text(token: object) -> str:
    return str(token) if token is not None else ""


def _template(found: object) -> str | None:
    """The usual one, where there are several under names of their own."""
    if isinstance(found, Mapping):
        found = found.get("default")
    return found if isinstance(found, str) else None
