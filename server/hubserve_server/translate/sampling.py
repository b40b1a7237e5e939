"""What chat and plain completions have in common: sampling and limits."""

from hubserve_engine.types import SamplingOptions
from hubserve_server.wire.sampling import MAX_INT32, Generating

RANDOM_SEED = 0xFFFFFFFF
"""llama.cpp's mark for "any seed", which is also what -1 becomes in 32 bits."""


def sampling_options(wire: Generating) -> SamplingOptions:
    repeat = wire.repeat_penalty
    return SamplingOptions(
        temperature=wire.temperature,
        top_k=None if wire.top_k is None else max(wire.top_k, 0),
        top_p=wire.top_p,
        min_p=wire.min_p,
        typical_p=wire.typical_p,
        repeat_penalty=wire.repetition_penalty if repeat is None else repeat,
        repeat_last_n=wire.repeat_last_n,
        presence_penalty=wire.presence_penalty,
        frequency_penalty=wire.frequency_penalty,
        seed=seed(wire.seed),
        ignore_eos=wire.ignore_eos,
        logit_bias=wire.logit_bias,
    )


def seed(value: int | None) -> int | None:
    """Any whole number as a 32-bit seed; -1 is a random one."""
    if value is None:
        return None
    masked = value & 0xFFFFFFFF
    return None if masked == RANDOM_SEED else masked


def max_tokens(wire: Generating) -> int | None:
    """The newer name wins; 0, -1 and more than any context has mean as many as it holds."""
    limit = wire.max_completion_tokens
    if limit is None:
        limit = wire.max_tokens
    return limit if limit is not None and 0 < limit <= MAX_INT32 else None
