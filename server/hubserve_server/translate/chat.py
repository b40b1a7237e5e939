"""A chat request into the engine's vocabulary."""

from hubserve_engine.errors import InvalidRequest
from hubserve_engine.types import Chat, Message, Request, Role, ToolCall
from hubserve_server.translate.constraint import constraint
from hubserve_server.translate.sampling import max_tokens, sampling_options
from hubserve_server.translate.thinking import (
    reasoning_budget,
    reasoning_format,
    template_arguments,
    thinking,
)
from hubserve_server.translate.tool_use import tool_use, tools
from hubserve_server.wire import messages as wire_messages
from hubserve_server.wire.chat import ChatRequest

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def chat_request(wire: ChatRequest) -> Request:
    """Raises `InvalidRequest` or `Unsupported`, with the field."""
    return Request(
        prompt=chat(wire),
        sampling=sampling_options(wire),
        max_tokens=max_tokens(wire),
        stop=wire.stop,
        n=wire.n or 1,
        logprobs=logprobs(wire),
        tool_use=tool_use(wire),
        constraint=constraint(wire),
        reasoning_budget=reasoning_budget(wire),
        reasoning_format=reasoning_format(wire),
        cache_prompt=wire.cache_prompt is not False,
    )


def chat(wire: ChatRequest) -> Chat:
    """The conversation alone, which `/apply-template` renders."""
    switch, effort = thinking(wire)
    messages = tuple(message(each) for each in wire.messages)
    going_on = continues(wire, messages)
    if not going_on and len(messages) > 1 and _is_empty_answer(messages[-1]):
        # An unfinished answer without a word in it: the same as asking for one.
        messages = messages[:-1]
    arguments = template_arguments(wire)
    arguments.pop("enable_thinking", None)  # It is in `switch`.
    return Chat(
        messages=messages,
        tools=tools(wire),
        reasoning=switch,
        reasoning_effort=effort,
        template_arguments=arguments,
        add_generation_prompt=not going_on and wire.add_generation_prompt is not False,
        continue_final=going_on,
    )


def message(wire: wire_messages.Message) -> Message:
    calls = [
        ToolCall(call.id or f"call_{position}", call.function.name, call.function.arguments)
        for position, call in enumerate(wire.tool_calls)
    ]
    if wire.function_call is not None and not calls:
        calls = [ToolCall("call_0", wire.function_call.name, wire.function_call.arguments)]
    return Message(
        role=ROLES[wire.role],
        content=wire.content,
        reasoning=wire.reasoning_content or wire.reasoning or wire.reasoning_text or None,
        tool_calls=tuple(calls),
        tool_call_id=wire.tool_call_id,
        name=wire.name,
    )


def continues(wire: ChatRequest, messages: tuple[Message, ...]) -> bool:
    """Whether the last message is the start of the answer, to be gone on with.

    An assistant message at the end is, unless the request says otherwise.
    """
    last = messages[-1]
    asked = wire.continue_final_message
    if asked:
        if wire.add_generation_prompt:
            raise InvalidRequest(
                "'continue_final_message' and 'add_generation_prompt' cannot both be true.",
                param="continue_final_message",
            )
        if last.role != "assistant":
            raise InvalidRequest(
                "'continue_final_message' needs an assistant message at the end of 'messages'.",
                param="continue_final_message",
            )
    if last.role != "assistant" or last.tool_calls or _is_empty_answer(last):
        return False
    return asked is not False and not wire.add_generation_prompt


def _is_empty_answer(last: Message) -> bool:
    return (
        last.role == "assistant" and not last.content and not last.reasoning and not last.tool_calls
    )


def logprobs(wire: ChatRequest) -> int | None:
    if wire.logprobs:
        return wire.top_logprobs or 0
    if wire.top_logprobs:
        raise InvalidRequest("'top_logprobs' needs 'logprobs' to be true.", param="top_logprobs")
    return None
