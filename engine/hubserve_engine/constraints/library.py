"""llguidance by its C API, in which nothing holds the interpreter up.

Its Python classes make a tokenizer without letting other threads go on: half a second for 150,000
tokens, in which no stream would be written.
"""

import ctypes
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar

from llguidance import _lib

Handle = ctypes.c_void_p

_MARKER = b"\xff"  # before the bytes of a token that is no text
_MOST_FORCED = 1024
_MOST_SECONDS = 1.0
"""For one question to a matcher. Streams wait meanwhile; a mask takes 0.1 ms, few take 10."""
_LOOK_SECONDS = 0.1
_LONGEST_ERROR = 4096


class _Limits(ctypes.Structure):
    _fields_ = (
        ("max_items_in_row", ctypes.c_size_t),
        ("initial_lexer_fuel", ctypes.c_uint64),
        ("step_lexer_fuel", ctypes.c_uint64),
        ("step_max_items", ctypes.c_size_t),
        ("max_lexer_states", ctypes.c_size_t),
        ("max_grammar_size", ctypes.c_size_t),
        ("precompute_large_lexemes", ctypes.c_bool),
        ("verbose_errors", ctypes.c_bool),
    )


class _Init(ctypes.Structure):
    _fields_ = (
        ("tokenizer", Handle),
        ("log_buffer_level", ctypes.c_uint32),
        ("log_stderr_level", ctypes.c_uint32),
        ("ff_tokens_ok", ctypes.c_bool),
        ("backtrack_ok", ctypes.c_bool),
        ("limits", _Limits),
        ("room", ctypes.c_uint8 * 256),  # for what a later version may add
    )


_TokenizeFunction = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_size_t,
)


class _TokenizerInit(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("vocab_size", ctypes.c_uint32),
        ("tok_eos", ctypes.c_uint32),
        ("token_lens", ctypes.POINTER(ctypes.c_uint32)),
        ("token_bytes", ctypes.POINTER(ctypes.c_uint8)),
        ("tokenizer_json", ctypes.c_char_p),
        ("tokenize_assumes_string", ctypes.c_bool),
        ("tokenize_fn", _TokenizeFunction),
        ("use_approximate_greedy_tokenize_fn", ctypes.c_bool),
        ("tokenize_user_data", ctypes.c_void_p),
        ("slices", ctypes.POINTER(ctypes.c_char_p)),
        ("tok_eos_extra", ctypes.POINTER(ctypes.c_uint32)),
        ("tok_eos_extra_count", ctypes.c_uint32),
    )


def _opened() -> Any:
    library = ctypes.CDLL(_lib.__file__)
    size, int32, bool_ = ctypes.c_size_t, ctypes.c_int32, ctypes.c_bool
    for name, result, *arguments in (
        ("new_tokenizer_v2", Handle, ctypes.POINTER(_TokenizerInit), ctypes.c_char_p, size),
        ("free_tokenizer", None, Handle),
        ("constraint_init_set_defaults", None, ctypes.POINTER(_Init), Handle),
        ("new_matcher", Handle, ctypes.POINTER(_Init), ctypes.c_char_p, ctypes.c_char_p),
        ("clone_matcher", Handle, Handle),
        ("free_matcher", None, Handle),
        ("matcher_get_mask_byte_size", size, Handle),
        ("matcher_compute_mask_into", int32, Handle, ctypes.c_char_p, size),
        ("matcher_consume_token", int32, Handle, ctypes.c_uint32),
        ("matcher_compute_ff_tokens", int32, Handle, ctypes.c_void_p, size),
        ("matcher_validate_tokens", int32, Handle, ctypes.c_void_p, size),
        ("matcher_is_stopped", bool_, Handle),
        ("matcher_is_error", bool_, Handle),
        ("matcher_get_error", ctypes.c_char_p, Handle),
        ("matcher_is_cancelled", bool_, Handle),
        ("matcher_get_cancellation_handle", Handle, Handle),
        ("free_cancellation_handle", None, Handle),
        ("cancel", None, Handle),
    ):
        function = getattr(library, f"llg_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_LIBRARY = _opened()


class Tokenizer:
    """A vocabulary: the bytes of each token, which of them are `special`, so no text, and which end
    an answer. `tokenize` cuts UTF-8 into tokens, in any thread."""

    def __init__(
        self,
        tokens: Iterable[bytes],
        *,
        special: Collection[int],
        ends: Sequence[int],
        tokenize: Callable[[bytes], list[int]],
    ) -> None:
        text = bytearray()
        sizes = array("I")
        for token, piece in enumerate(tokens):  # a loop lets other threads in, a join does not
            written = _MARKER + piece if token in special else piece
            text += written
            sizes.append(len(written))
        extra = (ctypes.c_uint32 * (len(ends) - 1))(*ends[1:])
        self._tokenize = _TokenizeFunction(_writing(tokenize))  # lives as long as this
        init = _TokenizerInit(
            struct_size=ctypes.sizeof(_TokenizerInit),
            vocab_size=len(sizes),
            tok_eos=ends[0],
            token_lens=(ctypes.c_uint32 * len(sizes)).from_buffer(sizes),
            token_bytes=(ctypes.c_uint8 * len(text)).from_buffer(text),
            tokenize_assumes_string=True,
            tokenize_fn=self._tokenize,
            tok_eos_extra=extra,
            tok_eos_extra_count=len(extra),
        )
        error = ctypes.create_string_buffer(_LONGEST_ERROR)
        self.ends = frozenset(ends)
        self.handle = _LIBRARY.llg_new_tokenizer_v2(init, error, len(error))
        if not self.handle:
            raise ValueError(error.value.decode("utf-8", "replace"))

    def __del__(self, free: Any = _LIBRARY.llg_free_tokenizer) -> None:
        free(getattr(self, "handle", None))


class _Limit:
    """A block of code that may take so long; then the matcher in it is cancelled, which is an error
    of it. Forced text is followed to its end, and a pattern can force a billion letters."""

    _running: ClassVar[dict["_Limit", float]] = {}
    _lock: ClassVar = threading.Lock()
    _any: ClassVar = threading.Event()
    _watch: ClassVar[threading.Thread | None] = None

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __enter__(self) -> None:
        with self._lock:
            self._running[self] = time.monotonic() + _MOST_SECONDS
            if _Limit._watch is None:
                _Limit._watch = threading.Thread(target=self._look, name="limit", daemon=True)
                _Limit._watch.start()
        self._any.set()

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            del self._running[self]

    @classmethod
    def _look(cls) -> None:
        while cls._any.wait():
            time.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            with cls._lock:
                if not cls._running:
                    cls._any.clear()
                for each, end in cls._running.items():
                    if now > end:
                        _LIBRARY.llg_cancel(each._handle)

    def __del__(self, free: Any = _LIBRARY.llg_free_cancellation_handle) -> None:
        free(self._handle)


class Matcher:
    """Where an answer is in a grammar: `source` is a list of grammars, as JSON.

    One in which something went wrong stays so; `error` is what.
    """

    def __init__(self, tokenizer: Tokenizer, source: str, *, lexer_states: int) -> None:
        init = _Init()
        _LIBRARY.llg_constraint_init_set_defaults(init, tokenizer.handle)
        init.log_buffer_level = init.log_stderr_level = 0
        init.limits.max_lexer_states = lexer_states
        init.limits.verbose_errors = False  # they go to clients, and need not hold the grammar
        self._own(tokenizer, _LIBRARY.llg_new_matcher(init, b"llguidance", source.encode()))

    def _own(self, tokenizer: Tokenizer, handle: Any) -> None:
        self._tokenizer = tokenizer  # outlives this
        self._handle = handle
        self._limit = _Limit(_LIBRARY.llg_matcher_get_cancellation_handle(handle))
        self._mask_size = _LIBRARY.llg_matcher_get_mask_byte_size(handle)

    def copy(self) -> "Matcher":
        other = Matcher.__new__(Matcher)
        other._own(self._tokenizer, _LIBRARY.llg_clone_matcher(self._handle))
        return other

    def mask(self) -> bytes:
        """A bit for each token; none is set where there is an error."""
        mask = ctypes.create_string_buffer(self._mask_size)
        with self._limit:
            failed = _LIBRARY.llg_matcher_compute_mask_into(self._handle, mask, self._mask_size)
        return bytes(self._mask_size) if failed else mask.raw

    def consume(self, token: int) -> None:
        if token in self._tokenizer.ends and self.stopped:
            return  # what it stands at is the end
        with self._limit:
            _LIBRARY.llg_matcher_consume_token(self._handle, token)

    def forced(self) -> list[int]:
        """Tokens that must come next, or the first of them."""
        found = (ctypes.c_uint32 * _MOST_FORCED)()
        with self._limit:
            count = _LIBRARY.llg_matcher_compute_ff_tokens(self._handle, found, _MOST_FORCED)
        return found[: max(count, 0)]

    def fitting(self, tokens: Sequence[int]) -> int:
        """How many of these may come next."""
        given = (ctypes.c_uint32 * len(tokens))(*tokens)
        with self._limit:
            fit: int = _LIBRARY.llg_matcher_validate_tokens(self._handle, given, len(tokens))
        return max(fit, 0)

    @property
    def stopped(self) -> bool:
        """Nothing may come any more but the end; also where there is an error."""
        return bool(_LIBRARY.llg_matcher_is_stopped(self._handle))

    @property
    def error(self) -> str | None:
        if not _LIBRARY.llg_matcher_is_error(self._handle):
            return None
        if _LIBRARY.llg_matcher_is_cancelled(self._handle):
            return f"a step of it takes more than {_MOST_SECONDS} s"
        said: bytes | None = _LIBRARY.llg_matcher_get_error(self._handle)
        return (said or b"unknown").decode("utf-8", "replace")

    def __del__(self, free: Any = _LIBRARY.llg_free_matcher) -> None:
        free(getattr(self, "_handle", None))


def _writing(tokenize: Callable[[bytes], list[int]]) -> Callable[..., int]:
    """As llguidance calls it: tokens go into an array, as many as there is room for."""

    def write(_data: Any, text: Any, length: int, tokens: Any, room: int) -> int:
        found = tokenize(ctypes.string_at(text, length))
        for place, token in enumerate(found[:room]):
            tokens[place] = token
        return len(found)

    return write
