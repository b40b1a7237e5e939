"""Sampling one sequence: sparse edits of the logits, and then a chain in C.

The order is llama-server's: penalties, top-k, typical, top-p, min-p, temperature.
"""

import secrets
from collections.abc import Sequence
from typing import Any

from hubserve_engine.backends.edits import EditingSampler
from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.types import Sampling

_LEAST = 1e-30
_MOST = 2**31 - 1


class ChainSampler(EditingSampler):
    """The chain, which has the random numbers; None if `greedy`. `top_k` is what it begins with, 0
    if with something else."""

    chain: Any = None

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], biases: dict[int, float], context: int
    ) -> None:
        super().__init__(sampling, prompt, biases, context)
        if not self.greedy:
            self.chain = _chain(sampling)
        self.top_k = min(max(sampling.top_k, 0), _MOST)

    def close(self) -> None:
        if self.chain:
            llama.llama_sampler_free(self.chain)
            self.chain = None

    def __del__(self) -> None:
        self.close()


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
