"""What a model keeps of a sequence: transformers' caches, copied, cut back, and as bytes.

A layer of attention keeps keys and values of every token, windowed layers too, since a window that
has moved on could not be cut back; the masks hide what is outside of it. They are replaced and
never changed when tokens are appended, so copies share them. A layer that is recurrent keeps
tensors of fixed size, which are changed in place (`cache_utils` of transformers 5.22.2).
"""

import copy
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import torch
from transformers import Cache, DynamicCache, PreTrainedConfig
from transformers.cache_utils import (
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionLayer,
)

from hubserve_engine.errors import LoadError

_KNOWN = (DynamicLayer, LinearAttentionLayer, LinearAttentionAndFullAttentionLayer)
Recurrent = tuple[torch.Tensor, ...]
"""Copies of all that is recurrent in a cache."""


def empty(config: PreTrainedConfig) -> Cache:
    """A cache that holds nothing. Raises LoadError where the model keeps what is not known here."""
    cache = DynamicCache(config=config)
    cache.layers = [
        DynamicLayer() if type(layer) is DynamicSlidingWindowLayer else layer
        for layer in cache.layers
    ]
    for layer in cache.layers:
        if type(layer) not in _KNOWN:
            raise LoadError(
                f"Models of the kind {config.model_type!r} keep a state of the kind"
                f" {type(layer).__name__!r}, which this engine cannot handle."
            )
    return cache


def twin(cache: Cache) -> Cache:
    """A copy that goes on by itself."""
    other = copy.copy(cache)
    other.layers = [_twin(layer) for layer in cache.layers]
    return other


def _twin(layer: Any) -> Any:
    other = copy.copy(layer)
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            setattr(other, name, {key: _cloned(each) for key, each in value.items()})
    return other


def _cloned(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def recurrent(cache: Cache) -> Recurrent:
    """What is recurrent, as it is now."""
    return tuple(tensor.clone() for tensor in _recurrent(cache))


def cut(cache: Cache, length: int, states: Recurrent = ()) -> None:
    """Keep the first `length` tokens, at least one. `states` are what was recurrent then."""
    for layer in _attention(cache):
        layer.keys = layer.keys[..., :length, :]
        layer.values = layer.values[..., :length, :]
    for tensor, state in zip(_recurrent(cache), states, strict=True):
        tensor.copy_(state)


def _recurrent(cache: Cache) -> Iterator[torch.Tensor]:
    for layer in cache.layers:
        if isinstance(layer, LinearAttentionLayer):
            for state in chain(layer.conv_states.values(), layer.recurrent_states.values()):
                if state is not None:
                    yield state


def tensors(cache: Cache) -> Iterator[tuple[torch.Tensor, bool]]:
    """All of the state, in a fixed order, and whether it grows: then its last dimension but one has
    the tokens."""
    for layer in _attention(cache):
        yield layer.keys, True
        yield layer.values, True
    for tensor in _recurrent(cache):
        yield tensor, False


def fill(cache: Cache, state: Iterable[torch.Tensor]) -> None:
    """The reverse, for a cache in which anything was before."""
    following = iter(state)
    for layer in _attention(cache):
        layer.keys, layer.values = next(following), next(following)
    for tensor in _recurrent(cache):
        tensor.copy_(next(following))


def _attention(cache: Cache) -> list[Any]:
    return [x for x in cache.layers if isinstance(x, DynamicLayer) and x.is_initialized]
