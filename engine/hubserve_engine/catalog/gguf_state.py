"""How much memory a model's state takes, from its metadata.

As llama.cpp lays it out: src/llama-hparams.cpp and src/llama-kv-cache.cpp, version 0.5.0-dev. A
layer of attention keeps keys and values of every token, windowed layers too, since a window
that has moved on could not be cut back to an earlier prefix. A recurrent layer keeps a state of
fixed size in 32 bits for each sequence. Where an architecture saves more than is known here, the
figures are too high, never too low.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hubserve_engine.types import CacheType
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.tensor_types import TensorType

_SINGLE = 4
_MOST_LAYERS = 512
"""As many as llama.cpp has room for (LLAMA_MAX_LAYERS)."""
_RECURRENT_BUT_EVERY_FOURTH = {"qwen35", "qwen35moe", "qwen3next"}


@dataclass(frozen=True, slots=True)
class StateSize:
    """Numbers kept as `keys` and `values` of each token, bytes of each sequence of any length.

    `heads` is the number of query heads of the widest layer; `windowed` is true where some layers
    look back over a window only.
    """

    keys: int
    values: int
    per_sequence: int
    heads: int
    windowed: bool

    def per_token(self, keys: CacheType = "f16", values: CacheType = "f16") -> int:
        """Bytes of each token of context, kept in these types."""
        return _bytes(self.keys, keys) + _bytes(self.values, values)


def _bytes(count: int, kind: CacheType) -> int:
    stored = TensorType[kind.upper()]
    return count * stored.block_bytes // stored.block_elements


def state_size(metadata: Metadata, architecture: str) -> StateSize:
    """Computes the sizes; a key that is absent counts as 0. Raises GGUFError on impossible ones."""
    read = _Reader(metadata, architecture)
    layers = read.one("block_count")
    if layers > _MOST_LAYERS:
        raise GGUFError(f"the file claims {layers} layers, {_MOST_LAYERS} are possible")
    heads = read.each("attention.head_count", layers)
    kv_heads = read.each("attention.head_count_kv", layers, default=heads)
    windowed = read.flags("attention.sliding_window_pattern", layers)
    keys = read.lengths("key_length", windowed, heads)
    values = read.lengths("value_length", windowed, heads)
    if read.one("attention.key_length_mla"):
        # Keys and values come from one compressed vector, which is kept in the place of the keys.
        values = [0] * layers
    per_state = read.recurrent_state()
    recurrent = read.recurrent_layers(layers, kv_heads) if per_state else [False] * layers
    # Falcon-H1 and its like have both in every layer, and name no layer as the one or the other.
    both = per_state and not any(recurrent)
    sharing = layers - read.one("attention.shared_kv_layers")
    kept = [layer for layer in range(layers) if not recurrent[layer] and layer < sharing]
    states = layers if both else sum(recurrent)
    return StateSize(
        keys=sum(kv_heads[layer] * keys[layer] for layer in kept),
        values=sum(kv_heads[layer] * values[layer] for layer in kept),
        per_sequence=states * per_state,
        heads=max(heads, default=0),
        windowed=read.one("attention.sliding_window") > 0,
    )


class _Reader:
    """The keys of one architecture, spread over its layers."""

    def __init__(self, metadata: Metadata, architecture: str) -> None:
        self._metadata = metadata
        self._architecture = architecture

    def one(self, key: str, default: int = 0) -> int:
        value = self._metadata.uint(f"{self._architecture}.{key}")
        return default if value is None else value

    def each(self, key: str, layers: int, default: Sequence[int] | None = None) -> Sequence[int]:
        name = f"{self._architecture}.{key}"
        found = self._metadata.uints(name)
        if found is None:
            return default if default is not None else [0] * layers
        if len(found) == 1:
            return [found[0]] * layers
        if len(found) < layers:
            raise GGUFError(f"the key {name!r} has {len(found)} values for {layers} layers")
        return list(found[:layers])

    def flags(self, key: str, layers: int) -> list[bool] | None:
        """One flag for each layer; None where the key has another form or is absent."""
        value = self._metadata.get(f"{self._architecture}.{key}")
        if not isinstance(value, memoryview) or len(value) < layers:
            return None
        return [bool(flag) for flag in value[:layers]]

    def lengths(self, key: str, windowed: list[bool] | None, heads: Sequence[int]) -> list[int]:
        """The length of a head's keys or values in each layer; windowed layers may have theirs."""
        width = self.one("embedding_length")
        usual = self.one(f"attention.{key}")
        small = self.one(f"attention.{key}_swa", usual)
        return [
            (small if windowed and windowed[layer] else usual) or (width // max(count, 1))
            for layer, count in enumerate(heads)
        ]

    def recurrent_state(self) -> int:
        """Bytes of one recurrent layer's state for one sequence; 0 where none is recurrent."""
        width = self.one("embedding_length")
        if head := self.one("wkv.head_size"):
            return (self.one("token_shift_count", 2) * width + width * head) * _SINGLE
        if cache := self.one("shortconv.l_cache"):
            return width * max(cache - 1, 0) * _SINGLE
        inner, state = self.one("ssm.inner_size"), self.one("ssm.state_size")
        past = max(self.one("ssm.conv_kernel") - 1, 0)
        channels = inner + 2 * self.one("ssm.group_count") * state
        return (past * channels + state * inner) * _SINGLE

    def recurrent_layers(self, layers: int, kv_heads: Sequence[int]) -> list[bool]:
        """Which layers keep a state in the place of keys and values."""
        if flags := self.flags("attention.recurrent_layers", layers):
            return flags
        usual = 4 if self._architecture in _RECURRENT_BUT_EVERY_FOURTH else 0
        if interval := self.one("full_attention_interval", usual):
            return [(layer + 1) % interval != 0 for layer in range(layers)]
        return [count == 0 for count in kv_heads]
