"""What the generating endpoints answer, whole or in chunks.

Field order and presence follow OpenAI's API reference; `timings` and `reasoning_content` follow
llama-server. A field that is UNSET is left out; one that is None is sent as null.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from hubserve_engine.types import CacheTier

Finish = Literal["stop", "length", "tool_calls", "function_call"]


class CachedTokens(msgspec.Struct):
    cached_tokens: int


class ReasoningTokens(msgspec.Struct):
    reasoning_tokens: int


class Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens
    completion_tokens_details: ReasoningTokens


class Timings(msgspec.Struct):
    """Counts, milliseconds and tokens per second; names as in llama-server 0.5.0.

    `cache_tier`, which is ours, says where the `cache_n` tokens were, if there were any. The last
    two are there only if tokens were guessed.
    """

    cache_n: int
    prompt_n: int
    prompt_ms: float
    prompt_per_token_ms: float
    prompt_per_second: float
    predicted_n: int
    predicted_ms: float
    predicted_per_token_ms: float
    predicted_per_second: float
    cache_tier: CacheTier | UnsetType = UNSET
    draft_n: int | UnsetType = UNSET
    draft_n_accepted: int | UnsetType = UNSET


class Logprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int]


class ChosenLogprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[Logprob]


class ChatLogprobs(msgspec.Struct):
    content: list[ChosenLogprob]
    refusal: None = None


class CalledFunction(msgspec.Struct):
    """`arguments` are JSON, in chunks a part of it; the name comes once."""

    arguments: str
    name: str | UnsetType = UNSET


class ToolCall(msgspec.Struct, kw_only=True):
    """A call, or in chunks a part of it: the first one has the id, the type and the name."""

    index: int | UnsetType = UNSET
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    function: CalledFunction


class ChatDelta(msgspec.Struct):
    role: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET
    function_call: CalledFunction | UnsetType = UNSET


class ChunkChoice(msgspec.Struct):
    index: int
    delta: ChatDelta
    logprobs: ChatLogprobs | None = None
    finish_reason: Finish | None = None


class ChatChunk(msgspec.Struct, kw_only=True):
    id: str
    object: str = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | UnsetType = UNSET
    timings: Timings | UnsetType = UNSET


class ChatMessage(msgspec.Struct, kw_only=True):
    role: str = "assistant"
    reasoning_content: str | UnsetType = UNSET
    content: str | None
    tool_calls: list[ToolCall] | UnsetType = UNSET
    function_call: CalledFunction | UnsetType = UNSET


class ChatChoice(msgspec.Struct):
    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: Finish


class ChatCompletion(msgspec.Struct, kw_only=True):
    id: str
    object: str = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChoice]
    usage: Usage
    timings: Timings


class TextLogprobs(msgspec.Struct):
    """`text_offset` counts characters from the start of the choice's text."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class TextChoice(msgspec.Struct):
    text: str
    index: int
    logprobs: TextLogprobs | None
    finish_reason: Finish | None


class TextCompletion(msgspec.Struct, kw_only=True):
    """The whole reply, and each chunk of a streamed one."""

    id: str
    object: str = "text_completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChoice]
    usage: Usage | UnsetType = UNSET
    timings: Timings | UnsetType = UNSET
