"""Rows of logits, and what llama.cpp's own samplers make of them."""

import ctypes
from typing import Any

import llama_cpp.llama_cpp as llama
import numpy as np

from hubserve_engine.backends.llama_cpp.sampler import ChainSampler
from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling


def row(seed: int, size: int = 288) -> Row:
    return (np.random.default_rng(seed).standard_normal(size) * 3).astype(np.float32)


def applied(own: Any, row: Row) -> tuple[list[Any], int]:
    """What a sampler leaves, each with `id`, `logit` and `p`, and the place of its choice."""
    data: Any = (llama.llama_token_data * len(row))()
    for token, logit in enumerate(row):
        data[token] = llama.llama_token_data(id=token, logit=float(logit), p=0.0)
    array = llama.llama_token_data_array(data=data, size=len(row), selected=-1, sorted=False)
    llama.llama_sampler_apply(own, ctypes.byref(array))
    return data[: array.size], array.selected


def chosen(sampler: ChainSampler, row: Row) -> int:
    """The token that its chain selects."""
    left, place = applied(sampler.chain, row)
    return int(left[place].id)


def left(sampling: Sampling, row: Row) -> dict[int, float]:
    """The tokens that a chain with these settings leaves, with their probabilities."""
    sampler = ChainSampler(sampling, [], {}, 64)
    return {each.id: each.p for each in applied(sampler.chain, row)[0]}
