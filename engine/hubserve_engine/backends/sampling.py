"""What every backend does with a row of logits, whatever it chooses a token with."""

from collections.abc import Callable

from hubserve_engine.backends.base import Chunk, Sampled
from hubserve_engine.backends.edits import EditingSampler
from hubserve_engine.backends.logprobs import Pieces, token_logprob
from hubserve_engine.backends.masks import Row, Tokens, restrict

Choose = Callable[[Row, Tokens | None], int | None]
"""A token of the row as it was edited, or of these of its tokens; None where none of them has a
finite logit."""


def sampled(chunk: Chunk, row: Row, choose: Choose, piece: Pieces) -> Sampled:
    """Edits the row, shape (vocabulary,), in place, and counts what is chosen from it."""
    sampler = chunk.sampler
    assert isinstance(sampler, EditingSampler)
    # Probabilities are the model's own, so the row is copied before it is edited.
    raw = row.copy() if chunk.logprobs is not None else None
    sampler.edit(row)
    token = choose(row, restrict(row, chunk.guide) if chunk.guide is not None else None)
    if token is None:
        return Sampled(0, broken=True)
    sampler.accept(token)
    if chunk.guide is not None:
        chunk.guide.accept(token)
    if raw is None or chunk.logprobs is None:
        return Sampled(token)
    return Sampled(token, token_logprob(raw, token, chunk.logprobs, piece))
