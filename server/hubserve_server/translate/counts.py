"""Counts and probabilities from the engine's vocabulary into the protocol's."""

from collections.abc import Iterable

from msgspec import UNSET

from hubserve_engine import types
from hubserve_server.wire.replies import (
    CachedTokens,
    ChatLogprobs,
    ChosenLogprob,
    Logprob,
    ReasoningTokens,
    TextLogprobs,
    Timings,
    Usage,
)

NEVER = -9999.0
"""JSON has no infinity; this is what OpenAI's API reports for a token that cannot come."""


def usage(counted: types.Usage) -> Usage:
    return Usage(
        prompt_tokens=counted.prompt_tokens,
        completion_tokens=counted.completion_tokens,
        total_tokens=counted.prompt_tokens + counted.completion_tokens,
        prompt_tokens_details=CachedTokens(counted.cached_tokens),
        completion_tokens_details=ReasoningTokens(counted.reasoning_tokens),
    )


def add_usage(parts: Iterable[types.Usage]) -> types.Usage:
    """The sum over several prompts of one HTTP request."""
    totals = [0, 0, 0, 0]
    for part in parts:
        totals[0] += part.prompt_tokens
        totals[1] += part.cached_tokens
        totals[2] += part.completion_tokens
        totals[3] += part.reasoning_tokens
    return types.Usage(*totals)


def add_timings(parts: Iterable[types.Timings]) -> types.Timings:
    """The sum over several prompts; the tier is that of the last that was in a cache."""
    total = types.Timings(cache_n=0, prompt_n=0, prompt_ms=0.0, predicted_n=0, predicted_ms=0.0)
    for part in parts:
        total = types.Timings(
            cache_n=total.cache_n + part.cache_n,
            prompt_n=total.prompt_n + part.prompt_n,
            prompt_ms=total.prompt_ms + part.prompt_ms,
            predicted_n=total.predicted_n + part.predicted_n,
            predicted_ms=total.predicted_ms + part.predicted_ms,
            draft_n=total.draft_n + part.draft_n,
            draft_n_accepted=total.draft_n_accepted + part.draft_n_accepted,
            cache_tier=part.cache_tier or total.cache_tier,
        )
    return total


def timings(measured: types.Timings) -> Timings:
    return Timings(
        cache_n=measured.cache_n,
        prompt_n=measured.prompt_n,
        prompt_ms=measured.prompt_ms,
        prompt_per_token_ms=_ratio(measured.prompt_ms, measured.prompt_n),
        prompt_per_second=per_second(measured.prompt_n, measured.prompt_ms),
        predicted_n=measured.predicted_n,
        predicted_ms=measured.predicted_ms,
        predicted_per_token_ms=_ratio(measured.predicted_ms, measured.predicted_n),
        predicted_per_second=per_second(measured.predicted_n, measured.predicted_ms),
        cache_tier=measured.cache_tier or UNSET,
        draft_n=measured.draft_n or UNSET,
        draft_n_accepted=measured.draft_n_accepted if measured.draft_n else UNSET,
    )


def per_second(tokens: int, milliseconds: float) -> float:
    return _ratio(tokens * 1000, milliseconds)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 0.0


def chat_logprobs(tokens: Iterable[types.TokenLogprob]) -> ChatLogprobs:
    return ChatLogprobs(
        content=[
            ChosenLogprob(
                token=_text(token.chosen.piece),
                logprob=_finite(token.chosen.logprob),
                bytes=list(token.chosen.piece),
                top_logprobs=[
                    Logprob(_text(each.piece), _finite(each.logprob), list(each.piece))
                    for each in token.top
                ],
            )
            for token in tokens
        ]
    )


def text_logprobs(tokens: Iterable[types.TokenLogprob]) -> TextLogprobs:
    """The older form."""
    reply = TextLogprobs(tokens=[], token_logprobs=[], top_logprobs=[], text_offset=[])
    for token in tokens:
        reply.tokens.append(_label(token.chosen.piece))
        reply.token_logprobs.append(_finite(token.chosen.logprob))
        reply.top_logprobs.append({_label(each.piece): _finite(each.logprob) for each in token.top})
        reply.text_offset.append(token.offset)
    return reply


def _text(piece: bytes) -> str:
    """A token need not be whole characters; its exact bytes stand beside this."""
    return piece.decode("utf-8", errors="replace")


def _label(piece: bytes) -> str:
    """A token as a key, where no bytes stand beside it: parts of characters must not look alike.

    The form is that of OpenAI's completions: `bytes:\\xe2\\x80`.
    """
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def _finite(logprob: float) -> float:
    return max(logprob, NEVER)
