"""A model file in llama.cpp: loading, its vocabulary, what it says of itself."""

import ctypes
import os
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from hubserve_engine.backends.base import BackendConfig, Progress
from hubserve_engine.backends.llama_cpp import library
from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.special_tokens import SpecialTokens
from hubserve_engine.errors import LoadError

_ALWAYS = llama.LLAMA_TOKEN_ATTR_USER_DEFINED
_IF_PARSED = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_UNKNOWN
_SPECIAL = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
_SHORT = 1 << 14
"""A text of so many bytes takes llama_tokenize hardly any time, whatever is in it."""


class Model:
    """Weights and vocabulary. The vocabulary's methods may be called from any thread."""

    def __init__(self, config: BackendConfig, progress: Progress) -> None:
        library.initialize()
        library.problems()
        self.handle: Any = _load(config, progress)
        self.vocab = llama.llama_model_get_vocab(self.handle)
        self.n_vocab: int = llama.llama_vocab_n_tokens(self.vocab)
        self._pieces: dict[tuple[int, bool], bytes] = {}
        name = os.path.basename(config.files[0])
        if llama.llama_vocab_type(self.vocab) == llama.LLAMA_VOCAB_TYPE_NONE:
            self.close()
            raise LoadError(f"{name!r} has no vocabulary, so it cannot be given text.")
        if not llama.llama_model_has_decoder(self.handle) or llama.llama_model_is_diffusion(
            self.handle
        ):
            self.close()
            raise LoadError(f"{name!r} is not a model that writes text token by token.")

    @property
    def architecture(self) -> str:
        return self.metadata("general.architecture") or "unknown"

    def metadata(self, key: str) -> str | None:
        """A scalar metadata value as text."""
        size = llama.llama_model_meta_val_str(self.handle, key.encode(), None, 0)
        if size < 0:
            return None
        buffer = ctypes.create_string_buffer(size + 1)
        llama.llama_model_meta_val_str(self.handle, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        template: bytes | None = llama.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None

    @property
    def recurrent(self) -> bool:
        """Whether the state has no past: it can be copied whole, not cut back."""
        return bool(
            llama.llama_model_is_recurrent(self.handle) or llama.llama_model_is_hybrid(self.handle)
        )

    @property
    def window(self) -> int:
        """The tokens that sliding-window layers see; 0 where there are no such layers."""
        return int(llama.llama_model_n_swa(self.handle))

    @cached_property
    def _attributes(self) -> npt.NDArray[np.int32]:
        """Bits of each token, shape (vocabulary,): the one walk over all of them at the start."""
        numbers = map(llama.llama_vocab_get_attr, repeat(self.vocab), range(self.n_vocab))
        return np.fromiter(numbers, np.int32, self.n_vocab)

    def _with(self, bits: int) -> list[int]:
        """The tokens that have one of these bits."""
        tokens: list[int] = np.flatnonzero(self._attributes & bits).tolist()
        return tokens

    def end_tokens(self) -> frozenset[int]:
        """llama.cpp makes control tokens of those that it knows by their texts; others are named in
        the file (llama_vocab::impl::load of src/llama-vocab.cpp, 0.5.0)."""
        named = (llama.llama_vocab_eos(self.vocab), llama.llama_vocab_eot(self.vocab))
        tokens = {*self._with(_SPECIAL), *(token for token in named if token >= 0)}
        return frozenset(t for t in tokens if llama.llama_vocab_is_eog(self.vocab, t))

    def suppressed(self) -> tuple[int, ...]:
        """Tokens that the model's authors say must never be sampled."""
        count = ctypes.c_int32(0)
        tokens = llama.llama_vocab_get_suppress_tokens(self.vocab, ctypes.byref(count))
        return tuple(tokens[i] for i in range(count.value)) if tokens else ()

    def special_tokens(self) -> frozenset[str]:
        """Texts of the control and user-defined tokens."""
        return frozenset(
            self.piece(t, special=True).decode("utf-8", "replace") for t in self._with(_SPECIAL)
        )

    @cached_property
    def longest_piece(self) -> int:
        """In bytes. The vocabulary's own texts are at least as long as the text they stand for."""
        texts = (llama.llama_vocab_get_text(self.vocab, t) for t in range(self.n_vocab))
        return max(len(text or b"") for text in texts)

    def token_text(self, token: int) -> str:
        """The text of a special token; empty where the model has none (a negative id)."""
        return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        # A lone surrogate has no UTF-8 form; it becomes a question mark, as in any encoder.
        data = text.encode("utf-8", "replace")
        if len(data) > _SHORT:
            special = self._all_special if parse_special else self._always_special
            if special.exact:
                return self._tokenize_long(data, special, add_special=add_special)
        return self._tokenize(data, add_special=add_special, parse_special=parse_special)

    def _tokenize(self, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
        room = len(data) + 16
        tokens = (llama.llama_token * room)()
        count = llama.llama_tokenize(
            self.vocab, data, len(data), tokens, room, add_special, parse_special
        )
        if count < 0:
            tokens = (llama.llama_token * -count)()
            count = llama.llama_tokenize(
                self.vocab, data, len(data), tokens, -count, add_special, parse_special
            )
        return list(tokens[: max(count, 0)])

    def _tokenize_long(
        self, data: bytes, special: SpecialTokens, *, add_special: bool
    ) -> list[int]:
        """The same tokens. llama.cpp, too, tokenizes what stands between special tokens piece by
        piece, so that it may be done here, also where the tokenizer puts a space before each."""
        before, after = self._frame if add_special else ([], [])
        tokens = list(before)
        known: dict[bytes, list[int]] = {}
        for part in special.split(data):
            if isinstance(part, int):
                tokens.append(part)
                continue
            if part not in known:
                known[part] = self._tokenize(part, add_special=False, parse_special=False)
            tokens += known[part]
        return tokens + after

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        """The tokens that `add_special` puts around a text."""
        bare = self._tokenize(b"a", add_special=False, parse_special=False)
        whole = self._tokenize(b"a", add_special=True, parse_special=False)
        starts = range(len(whole) - len(bare) + 1)
        start = next(at for at in starts if whole[at : at + len(bare)] == bare)
        return whole[:start], whole[start + len(bare) :]

    @cached_property
    def _all_special(self) -> SpecialTokens:
        return self._special(self._with(_IF_PARSED | _ALWAYS))

    @cached_property
    def _always_special(self) -> SpecialTokens:
        if_parsed = set(self._with(_IF_PARSED))
        return self._special([t for t in self._with(_ALWAYS) if t not in if_parsed])

    def _special(self, wanted: Sequence[int]) -> SpecialTokens:
        tokens: dict[bytes, int] = {}
        strip_before, strip_after = set[bytes](), set[bytes]()
        for token in wanted:
            attributes = int(self._attributes[token])
            text = llama.llama_vocab_get_text(self.vocab, token)
            if not text:
                continue
            if text in tokens:  # llama.cpp knows which one it takes
                (token,) = self._tokenize(text, add_special=False, parse_special=True)
            tokens[text] = token
            if attributes & llama.LLAMA_TOKEN_ATTR_LSTRIP:
                strip_before.add(text)
            if attributes & llama.LLAMA_TOKEN_ATTR_RSTRIP:
                strip_after.add(text)
        return SpecialTokens(
            tokens, strip_before=frozenset(strip_before), strip_after=frozenset(strip_after)
        )

    def piece(self, token: int, *, special: bool = False) -> bytes:
        key = (token, special)
        known = self._pieces.get(key)
        if known is None:
            known = self._pieces[key] = self._read_piece(token, special)
        return known

    def _read_piece(self, token: int, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            written: int = llama.llama_token_to_piece(self.vocab, token, buffer, size, 0, special)
            if written >= 0:
                return buffer.raw[:written]
            size = -written

    def close(self) -> None:
        if self.handle:
            llama.llama_model_free(self.handle)
            self.handle = None


def _load(config: BackendConfig, progress: Progress) -> Any:
    params = llama.llama_model_default_params()
    params.n_gpu_layers = config.running.gpu_layers

    @llama.llama_progress_callback  # type: ignore[untyped-decorator]
    def on_progress(done: float, _user_data: ctypes.c_void_p) -> bool:
        progress(done)
        return True

    params.progress_callback = on_progress
    paths = [os.fsencode(f) for f in config.files]
    if len(paths) == 1:
        handle = llama.llama_model_load_from_file(paths[0], params)
    else:
        array = (ctypes.c_char_p * len(paths))(*paths)
        handle = llama.llama_model_load_from_splits(array, len(paths), params)
    if not handle:
        raise LoadError(_explain(os.path.basename(config.files[0]), library.problems()))
    return handle


def _explain(name: str, problems: Sequence[str]) -> str:
    text = " ".join(problems)
    if found := re.search(r"unknown model architecture: '([^']*)'", text):
        return (
            f"{name!r} has the architecture {found[1]!r}, which this llama.cpp does not know;"
            " a newer hubserve may, or choose another model."
        )
    if found := re.search(r"unknown pre-tokenizer type: '([^']*)'", text):
        return f"{name!r} has the tokenizer {found[1]!r}, which this llama.cpp does not know."
    reasons = [p for p in problems if "error loading model" in p] or list(problems)
    reason = reasons[0].rpartition("error loading model: ")[2] if reasons else "no reason given"
    return f"llama.cpp cannot load {name!r}: {reason.strip().rstrip('.')}."
