"""`POST /v1/chat/completions`, as it comes in."""

from typing import Annotated, Any

from pydantic import BeforeValidator, FailFast, PlainValidator

from hubserve_server.wire.fields import Flag, Text, template_arguments, text, whole, wrong
from hubserve_server.wire.messages import Message, read_functions, read_messages, read_tools
from hubserve_server.wire.sampling import MAX_ALTERNATIVES, Generating


def read_reasoning_format(value: Any) -> str | None:
    """llama-server's names, but for the one that repeats the thinking in the content."""
    if value is None or value in ("auto", "none", "deepseek"):
        return text(value)
    raise wrong("must be auto, none or deepseek", value)


def read_tool_choice(value: Any) -> Any:
    if value is None or isinstance(value, str | dict):
        return value
    raise wrong("must be a string or an object", value)


def read_switch(value: Any) -> Any:
    """One of the thinking switches that take a string, true or false, or an object."""
    if value is None or isinstance(value, bool | str | dict):
        return value
    raise wrong("must be true or false, a string, or an object", value)


Budget = Annotated[int | None, PlainValidator(whole(-1))]
"""Tokens; -1 is no limit."""


class ChatRequest(Generating):
    messages: Annotated[tuple[Message, ...], FailFast(), BeforeValidator(read_messages)]

    tools: Annotated[tuple[dict[str, Any], ...], PlainValidator(read_tools)] = ()
    tool_choice: Annotated[Any, PlainValidator(read_tool_choice)] = None
    parallel_tool_calls: Flag = None
    functions: Annotated[tuple[dict[str, Any], ...], PlainValidator(read_functions)] = ()
    function_call: Annotated[Any, PlainValidator(read_tool_choice)] = None

    logprobs: Flag = None
    top_logprobs: Annotated[int | None, PlainValidator(whole(0, MAX_ALTERNATIVES))] = None

    chat_template_kwargs: Annotated[dict[str, Any] | None, PlainValidator(template_arguments)] = (
        None
    )
    enable_thinking: Flag = None
    reasoning: Annotated[Any, PlainValidator(read_switch)] = None
    thinking: Annotated[Any, PlainValidator(read_switch)] = None
    reasoning_effort: Text = None
    thinking_budget_tokens: Budget = None
    thinking_token_budget: Budget = None
    thinking_budget: Budget = None
    reasoning_budget_tokens: Budget = None
    reasoning_budget: Budget = None
    reasoning_format: Annotated[str | None, PlainValidator(read_reasoning_format)] = None

    add_generation_prompt: Flag = None
    continue_final_message: Flag = None
