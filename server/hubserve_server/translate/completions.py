"""A plain completion request into the engine's vocabulary."""

from hubserve_engine.errors import Unsupported
from hubserve_engine.types import Request
from hubserve_server.translate.constraint import constraint
from hubserve_server.translate.sampling import max_tokens, sampling_options
from hubserve_server.wire.completions import CompletionRequest


def completion_requests(wire: CompletionRequest) -> list[Request]:
    """One request for each prompt. Raises `Unsupported`, with the field."""
    n = wire.n or 1
    if wire.suffix:
        raise Unsupported("'suffix' is not possible on this server yet.", param="suffix")
    if wire.best_of is not None and wire.best_of > n:
        raise Unsupported(
            f"'best_of' {wire.best_of} is not possible on this server; ask for 'n' choices and"
            " choose among them.",
            param="best_of",
        )
    if wire.echo and wire.logprobs is not None:
        raise Unsupported(
            "'echo' together with 'logprobs' is not possible on this server; leave one out.",
            param="echo",
        )
    sampling, limit, held = sampling_options(wire), max_tokens(wire), constraint(wire)
    return [
        Request(
            prompt=prompt,
            sampling=sampling,
            max_tokens=limit,
            stop=wire.stop,
            n=n,
            logprobs=wire.logprobs,
            constraint=held,
            cache_prompt=wire.cache_prompt is not False,
        )
        for prompt in wire.prompt
    ]
