"""`POST /v1/completions`, as it comes in."""

from typing import Annotated, Any

from pydantic import PlainValidator

from hubserve_server.wire.fields import Flag, Text, whole, wrong
from hubserve_server.wire.sampling import MAX_ALTERNATIVES, Generating
from hubserve_server.wire.tokens import read_tokens

MAX_PROMPTS = 64

OnePrompt = str | tuple[int, ...]


def read_prompt(value: Any) -> tuple[OnePrompt, ...]:
    """Text, token ids, or a list of either; several prompts give several choices."""
    expectation = "must be a string, an array of strings, or arrays of token ids"
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not value:
        raise wrong(expectation, value)
    if not isinstance(value[0], str | list):
        return (read_tokens(value),)
    if len(value) > MAX_PROMPTS:
        raise wrong(f"must hold at most {MAX_PROMPTS} prompts", len(value))
    if not all(isinstance(prompt, str | list) and (prompt or prompt == "") for prompt in value):
        raise wrong(expectation, value)
    return tuple(prompt if isinstance(prompt, str) else read_tokens(prompt) for prompt in value)


def read_logprobs(value: Any) -> int | None:
    """The number of alternatives; `false` is none, as some clients write it."""
    return None if value is False else whole(0, MAX_ALTERNATIVES)(value)


class CompletionRequest(Generating):
    prompt: Annotated[tuple[OnePrompt, ...], PlainValidator(read_prompt)]
    suffix: Text = None
    echo: Flag = None
    best_of: Annotated[int | None, PlainValidator(whole(1, 128))] = None
    logprobs: Annotated[int | None, PlainValidator(read_logprobs)] = None
