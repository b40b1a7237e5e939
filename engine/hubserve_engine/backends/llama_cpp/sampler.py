"""Sampling one sequence: a C chain, and sparse edits of the logits before it.

llama.cpp's own penalties and bias samplers visit the whole vocabulary for every token. Here only
the logits of the tokens concerned are changed, in place, and the chain does the rest. The order is
llama-server's: penalties, top-k, typical, top-p, min-p, temperature. Penalties follow
llama_sampler_penalties_apply of llama.cpp (src/llama-sampler.cpp, 0.5.0).
"""

import secrets
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import llama_cpp.llama_cpp as llama
import numpy as np

from hubserve_engine.backends.llama_cpp.context import Row
from hubserve_engine.types import Sampling

_COLDEST = 1e-6
"""Below this temperature the likeliest token is taken: dividing by it would give infinities."""
_LEAST = 1e-30
_MOST = 2**31 - 1


class ChainSampler:
    """The chain, its random numbers, and what penalties count. `biases` are final, by token id.

    `greedy`: the likeliest token is wanted, and there is no chain. `top_k` is what the chain
    begins with, 0 if with something else.
    """

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], biases: dict[int, float], context: int
    ) -> None:
        self.greedy = sampling.temperature < _COLDEST
        self.chain: Any = None if self.greedy else _chain(sampling)
        self.top_k = min(max(sampling.top_k, 0), _MOST)
        self._penalties = _Penalties(sampling, prompt, context)
        self._bias_tokens = np.fromiter(biases.keys(), np.int64, len(biases))
        self._bias_values = np.fromiter(biases.values(), np.float32, len(biases))

    @property
    def edits(self) -> bool:
        """Whether the logits are to be edited before the chain samples."""
        return bool(len(self._bias_tokens)) or self._penalties.active

    def edit(self, row: Row) -> None:
        """Change the row in place, shape (vocabulary,)."""
        self._penalties.apply(row)
        if len(self._bias_tokens):
            row[self._bias_tokens] += self._bias_values

    def accept(self, token: int) -> None:
        """Count a sampled token."""
        self._penalties.accept(token)

    def close(self) -> None:
        if self.chain:
            llama.llama_sampler_free(self.chain)
            self.chain = None

    def __del__(self) -> None:
        self.close()


class _Penalties:
    """Counts over the last tokens, prompt and answer, so that applying them touches those alone."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int], context: int) -> None:
        last = min(sampling.repeat_last_n, context) if sampling.repeat_last_n >= 0 else context
        self._repeat = sampling.repeat_penalty
        self._presence = sampling.presence_penalty
        self._frequency = sampling.frequency_penalty
        self.active = last > 0 and (
            self._repeat != 1.0 or self._presence != 0.0 or self._frequency != 0.0
        )
        self._window: deque[int] = deque(maxlen=last)
        self._counts: Counter[int] = Counter()
        if self.active:
            self._extend(prompt[-last:])

    def _extend(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            self.accept(token)

    def accept(self, token: int) -> None:
        if not self.active:
            return
        if len(self._window) == self._window.maxlen:
            oldest = self._window[0]
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]
        self._window.append(token)
        self._counts[token] += 1

    def apply(self, row: Row) -> None:
        if not self._counts:
            return
        tokens = np.fromiter(self._counts.keys(), np.int64, len(self._counts))
        counts = np.fromiter(self._counts.values(), np.float32, len(self._counts))
        logits = row[tokens]
        if self._repeat != 1.0:
            logits = np.where(logits <= 0, logits * self._repeat, logits / self._repeat)
        row[tokens] = logits - (counts * self._frequency + self._presence)


def _chain(sampling: Sampling) -> Any:
    params = llama.llama_sampler_chain_default_params()
    params.no_perf = True
    chain = llama.llama_sampler_chain_init(params)

    def add(sampler: Any) -> None:
        llama.llama_sampler_chain_add(chain, sampler)

    if sampling.top_k > 0:
        add(llama.llama_sampler_init_top_k(min(sampling.top_k, _MOST)))
    if sampling.typical_p < 1:
        # A probability of zero makes its entropy no number, and then it chooses at random.
        add(llama.llama_sampler_init_min_p(_LEAST, 1))
        add(llama.llama_sampler_init_typical(sampling.typical_p, 1))
    if sampling.top_p < 1:
        add(llama.llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p > 0:
        add(llama.llama_sampler_init_min_p(sampling.min_p, 1))
    if sampling.temperature != 1:
        add(llama.llama_sampler_init_temp(sampling.temperature))
    seed = secrets.randbits(32) if sampling.seed is None else sampling.seed
    add(llama.llama_sampler_init_dist(seed % llama.LLAMA_DEFAULT_SEED))
    return chain
