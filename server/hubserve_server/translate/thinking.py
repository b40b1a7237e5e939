"""What a request says of thinking. Several fields may hold the switch, and several the budget; of
each the first that is set counts."""

from typing import Any, NamedTuple

from hubserve_engine.errors import InvalidRequest
from hubserve_engine.types import ReasoningFormat, ReasoningSwitch
from hubserve_server.wire.chat import ChatRequest
from hubserve_server.wire.fields import is_whole, shown
from hubserve_server.wire.sampling import MAX_INT32

SWITCHES_OF_TEMPLATES = ("enable_thinking", "thinking")
"""The template arguments that are true or false. To a template, the text "false" is true."""

OFF_WORDS = frozenset({"none", "off", "disabled", "false"})
ON_WORDS = frozenset({"on", "enabled", "true", "auto", "adaptive"})
"""Words that switch thinking on without saying how much of it is wanted."""


class Thinking(NamedTuple):
    """None is what the request does not say."""

    switch: ReasoningSwitch | None = None
    effort: str | None = None


def thinking(wire: ChatRequest) -> Thinking:
    """Reads the switches in their order; the effort may come from a later one."""
    found = [
        _from_flag(template_arguments(wire).get("enable_thinking")),
        _from_flag(wire.enable_thinking),
        _from_reasoning(wire.reasoning),
        _from_thinking(wire.thinking),
        _from_word(wire.reasoning_effort),
    ]
    switch = next((each.switch for each in found if each.switch is not None), None)
    effort = next((each.effort for each in found if each.effort is not None), None)
    return Thinking(switch, None if switch == "off" else effort)


def template_arguments(wire: ChatRequest) -> dict[str, Any]:
    """`chat_template_kwargs`, in which a switch is true or false; null leaves it alone.

    Raises `InvalidRequest` for a switch that is anything else.
    """
    arguments = dict(wire.chat_template_kwargs or {})
    for name in SWITCHES_OF_TEMPLATES:
        value = arguments.get(name)
        if value is None:
            arguments.pop(name, None)
        elif not isinstance(value, bool):
            param = f"chat_template_kwargs.{name}"
            message = f"{param!r} must be true or false, not {shown(value)}."
            raise InvalidRequest(message, param=param)
    return arguments


def reasoning_budget(wire: ChatRequest) -> int | None:
    """The tokens that thinking may take, -1 for no limit, which one beyond any context is too;
    None where the request does not say.

    The names are llama-server's, vLLM's, Qwen's, and those of objects that others put it in.
    Raises `InvalidRequest` for an object's budget that is no number of tokens.
    """
    found = [
        wire.thinking_budget_tokens,
        wire.thinking_token_budget,
        wire.thinking_budget,
        wire.reasoning_budget_tokens,
        wire.reasoning_budget,
        _from_object(wire.reasoning, "reasoning", "max_tokens"),
        _from_object(wire.thinking, "thinking", "budget_tokens"),
    ]
    budget = next((budget for budget in found if budget is not None), None)
    return -1 if budget is not None and budget > MAX_INT32 else budget


def reasoning_format(wire: ChatRequest) -> ReasoningFormat | None:
    """`deepseek` is llama-server's name for what we do by ourselves."""
    if wire.reasoning_format is None:
        return None
    return "none" if wire.reasoning_format == "none" else "auto"


def _from_flag(value: bool | None) -> Thinking:
    return Thinking() if value is None else Thinking("on" if value else "off")


def _from_word(word: str | None) -> Thinking:
    lowered = (word or "").strip().lower()
    if not lowered:
        return Thinking()
    if lowered in OFF_WORDS:
        return Thinking("off")
    return Thinking("on", None if lowered in ON_WORDS else lowered)


def _from_reasoning(value: Any) -> Thinking:
    """`reasoning: {enabled, effort}`, or a word, or true or false."""
    if not isinstance(value, dict):
        return _from_thinking(value)
    by_effort = _from_word(_word(value.get("effort"), "reasoning.effort"))
    enabled = value.get("enabled")
    if enabled is None:
        return by_effort
    if not isinstance(enabled, bool):
        message = "'reasoning.enabled' must be true or false."
        raise InvalidRequest(message, param="reasoning.enabled")
    return Thinking("on" if enabled else "off", by_effort.effort)


def _from_thinking(value: Any) -> Thinking:
    """`thinking: {type}`, or a word, or true or false."""
    if isinstance(value, dict):
        return _from_word(_word(value.get("type"), "thinking.type"))
    if isinstance(value, bool):
        return _from_flag(value)
    return _from_word(value)


def _from_object(value: Any, name: str, field: str) -> int | None:
    budget = value.get(field) if isinstance(value, dict) else None
    if budget is None:
        return None
    if not is_whole(budget) or budget < -1:
        param = f"{name}.{field}"
        message = f"{param!r} must be a whole number of at least -1, not {shown(budget)}."
        raise InvalidRequest(message, param=param)
    return int(budget)


def _word(value: Any, param: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidRequest(f"{param!r} must be a string.", param=param)
