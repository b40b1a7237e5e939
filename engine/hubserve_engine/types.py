"""The vocabulary that the whole engine shares. It imports the standard library only.

A `Request` goes in, a stream of `Event`s comes out: one `Started`, any number of `Delta`s and
`ToolCallDelta`s, one `Finished` for each choice, and a `Completed` at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
Channel = Literal["reasoning", "content"]
FinishReason = Literal["stop", "length", "tool_calls"]
ReasoningSwitch = Literal["on", "off", "auto"]
ReasoningFormat = Literal["auto", "none"]
ToolChoice = Literal["none", "auto", "required"]
ToolsPolicy = Literal["free", "strict"]
"""Whether calls are held to the schemas of their tools where a request does not ask for that."""
ConstraintKind = Literal["json_object", "json_schema", "regex", "choice", "gbnf", "lark"]
CacheTier = Literal["live", "kept", "host", "disk"]
CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
"""What a number in the state is kept in; all but the first three are blocks of 32, quantized."""
EngineName = Literal["llama.cpp", "transformers", "scripted"]
Stage = Literal[
    "starting", "resolving", "downloading", "exporting", "loading", "ready", "unavailable"
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in an earlier assistant message. `arguments` is the text that the client sent."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; content parts are already joined to one text."""

    role: Role
    content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How the tools of a chat may be called.

    `allowed` are the names that may be, None for all of them; a named function is "required" with
    one name. Without `parallel` an answer has one call at most. `strict` holds calls to the schemas
    of their tools from the moment one begins; with "required" they always are.
    """

    choice: ToolChoice = "auto"
    allowed: tuple[str, ...] | None = None
    parallel: bool = True
    strict: bool = False

    @property
    def binds(self) -> bool:
        """Whether calls are held to the schemas of their tools."""
        return self.choice == "required" or (self.choice == "auto" and self.strict)


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the answer has to be, thinking aside.

    `value` is the schema of "json_schema" (a dict or a boolean), the pattern of "regex", the tuple
    of texts of "choice", the source of "gbnf" or "lark", and None for "json_object". `param` is the
    request's field that said so, for errors.
    """

    kind: ConstraintKind
    value: Any = None
    param: str = "response_format"


@dataclass(frozen=True, slots=True)
class Chat:
    """A prompt that the model's own chat template renders.

    `tools` are the function tools as the client described them (the `{"type": "function", ...}`
    objects). `reasoning` is None where the request says nothing: the server's default holds.
    `continue_final` renders a last assistant message as an unfinished turn to go on from.
    """

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    reasoning: ReasoningSwitch | None = None
    reasoning_effort: str | None = None
    template_arguments: Mapping[str, Any] = field(default_factory=dict)
    add_generation_prompt: bool = True
    continue_final: bool = False


Prompt = Chat | str | tuple[int, ...]
"""What to complete: a chat, plain text, or token ids."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Complete sampling settings; the defaults are llama-server's.

    A temperature of 0 or below takes the likeliest token. `seed` None is a random seed.
    `logit_bias` pairs a token id, or a text whose tokens are meant, with what is added to its
    logit; minus infinity forbids it.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    ignore_eos: bool = False
    logit_bias: tuple[tuple[int | str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """What a request says of sampling; None leaves the model's default. Fields as in `Sampling`."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    ignore_eos: bool | None = None
    logit_bias: tuple[tuple[int | str, float], ...] | None = None

    def over(self, defaults: Sampling) -> Sampling:
        """`defaults` with everything that these options set."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(defaults, **{name: v for name, v in given.items() if v is not None})


@dataclass(frozen=True, slots=True)
class Request:
    """One generation: a prompt, how to sample, when to stop.

    `max_tokens` None goes on to the end of the context. `stop` strings end the answer (not the
    thinking) and are not part of it. `constraint` binds the answer, and `tool_use` the calls in it.
    `reasoning_budget` are the tokens that thinking may take, None for the server's default and -1
    for no limit of its own. `logprobs` is the number of alternatives wanted for each
    token, 0 for the chosen token alone, None for none. `reasoning_format` "none" leaves thinking in
    the content; None takes the server's default.
    """

    prompt: Prompt
    sampling: SamplingOptions = SamplingOptions()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    n: int = 1
    logprobs: int | None = None
    tool_use: ToolUse = ToolUse()
    constraint: Constraint | None = None
    reasoning_budget: int | None = None
    reasoning_format: ReasoningFormat | None = None
    cache_prompt: bool = True


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token with its bytes (which need not be whole characters) and natural log probability."""

    id: int
    piece: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """The chosen token and the likeliest alternatives, best first.

    Probabilities are the model's own, before penalties, biases and truncation. `offset` is where
    the token's text begins in the content of its choice, in characters; tokens that share a
    character begin at the same one.
    """

    chosen: TokenProbability
    top: tuple[TokenProbability, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt is tokenized, fits the context, and waits for its turn."""

    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of one choice, on one channel. `logprobs` are those of the content's tokens."""

    index: int
    channel: Channel
    text: str
    logprobs: tuple[TokenLogprob, ...] = ()

    def followed_by(self, more: "Delta") -> "Delta":
        """Both as one; `more` is of the same choice, on the same channel."""
        return replace(self, text=self.text + more.text, logprobs=self.logprobs + more.logprobs)


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of one call of a choice; `call` counts from 0.

    The first one has `id` and `name`; `arguments` are more of the JSON text of an object.
    """

    index: int
    call: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A choice is complete. `stop` is the stop string that ended it, if one did.

    `cut` is the text of a call that was cut off when a part of it had been told: the last call is
    none then, and this is content. `closed`: at its limit the answer was brought to its end, so
    that it is whole.
    """

    index: int
    reason: FinishReason
    completion_tokens: int
    reasoning_tokens: int = 0
    stop: str | None = None
    cut: str | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a whole request, all choices together; the prompt is counted once."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time went, in milliseconds, with token counts. Queueing is in neither part.

    `prompt_n` are the tokens that were read (the cached ones, `cache_n`, are not among them).
    `cache_tier` is where the cached ones were. `draft_n` tokens were guessed; of those written,
    `draft_n_accepted` had been.
    """

    cache_n: int
    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    draft_n: int = 0
    draft_n_accepted: int = 0
    cache_tier: CacheTier | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The end of a request, after the `Finished` of its last choice."""

    usage: Usage
    timings: Timings


WorkerEvent = Started | Delta | Finished | Completed
"""What the worker tells: calls are still text in the content."""
Event = WorkerEvent | ToolCallDelta


@dataclass(frozen=True, slots=True)
class Rendered:
    """A chat as its template renders it, and what the end says of thinking.

    `thinking_open` is true where the text ends inside an open thinking tag, so that the first
    generated token is thinking. `mark` is what stands at the end of the text and begins the answer:
    a part of one of the marks of the model's family.
    """

    text: str
    thinking_open: bool
    mark: str = ""
